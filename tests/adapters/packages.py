"""Packages made for tests: a made-up vocabulary in a wheel and in a tgz, and archives that nobody should unpack."""

import hashlib
import io
import stat
import tarfile
import zipfile

import pytest

VOCABULARY = b"".join(b"%d of a made-up vocabulary\n" % number for number in range(5000))
MEMBER = "package/models/v.tiktoken"
BOMB = 5_000_000


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def tarred(members: dict[str, bytes], *special: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for info in special:
            archive.addfile(info)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


WHEEL = zipped({"other.py": b"pass", MEMBER: VOCABULARY})
TGZ = tarred({"package/readme.md": b"hi", MEMBER: VOCABULARY})


def link(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def zip_link() -> bytes:
    info = zipfile.ZipInfo(MEMBER)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


def zip_twice() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(MEMBER, b"one")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(MEMBER, VOCABULARY)
    return packed.getvalue()


def zip_that_lies() -> bytes:
    """A member of 5 MB whose directory states one byte less than the vocabulary has."""
    packed = bytearray(zipped({MEMBER: bytes(BOMB)}))
    size, stated = BOMB.to_bytes(4, "little"), (len(VOCABULARY) - 1).to_bytes(4, "little")
    return bytes(packed.replace(size, stated))


def zip_encrypted() -> bytes:
    packed = bytearray(zipped({MEMBER: VOCABULARY}))
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


HOSTILE_WHEELS = {
    "absolute": zipped({"/etc/cron.d/x": b"", MEMBER: VOCABULARY}),
    "parent": zipped({"a/../../x": b"", MEMBER: VOCABULARY}),
    "backslash": zipped({"..\\x": b"", MEMBER: VOCABULARY}),
    "drive": zipped({"C:/x": b"", MEMBER: VOCABULARY}),
    "link": zip_link(),
    "twice": zip_twice(),
    "absent": zipped({"other": VOCABULARY}),
    "bomb": zipped({MEMBER: bytes(BOMB)}),
    "bomb that states less": zip_that_lies(),
    "encrypted": zip_encrypted(),
    "cut short": WHEEL[:-30],
    "not an archive": b"nothing",
    "empty": b"",
}
HOSTILE_TARS = {
    "absolute": tarred({"/etc/cron.d/x": b"", MEMBER: VOCABULARY}),
    "parent": tarred({"../x": b"", MEMBER: VOCABULARY}),
    "symbolic link": tarred({}, link(MEMBER, tarfile.SYMTYPE)),
    "hard link": tarred({}, link(MEMBER, tarfile.LNKTYPE)),
    "device": tarred({}, link(MEMBER, tarfile.CHRTYPE)),
    "folder": tarred({}, link(MEMBER, tarfile.DIRTYPE)),
    "absent": tarred({"other": VOCABULARY}),
    "bomb": tarred({MEMBER: bytes(BOMB)}),
    "shorter": tarred({MEMBER: VOCABULARY[:-1]}),
    "another vocabulary": tarred({MEMBER: VOCABULARY.swapcase()}),
    "cut short": TGZ[: len(TGZ) // 2],
    "not an archive": b"nothing",
    "empty": b"",
}
