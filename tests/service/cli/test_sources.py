"""Inputs: files and standard input as UTF-8, all or nothing."""

from pathlib import Path

import pytest

from service.cli.group import BadInput
from service.cli.sources import decoded, named, texts


def test_without_files_standard_input_is_read() -> None:
    assert named([]) == ["-"]


def test_standard_input_is_read_once_at_most() -> None:
    with pytest.raises(BadInput, match="only once"):
        named(["-", "file", "-"])


def test_a_text_is_read_as_it_is(tmp_path: Path) -> None:
    text = "\ufeffone\r\ntwo\rthree\n\x00"
    (tmp_path / "file").write_bytes(text.encode())
    assert list(texts([str(tmp_path / "file")])) == [(str(tmp_path / "file"), text)]


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"\xff", 0),
        ("日本".encode() + b"\xe6\x97", 6),
        (b"ok \xed\xa0\x80", 3),
        (b"\x00" * 100_000 + b"\xc3(", 100_000),
    ],
    ids=["first byte", "cut short", "surrogate", "far in"],
)
def test_bytes_that_are_no_utf8_are_told_by_file_and_offset(data: bytes, offset: int) -> None:
    with pytest.raises(BadInput, match=rf"notes.txt: not UTF-8 at byte {offset}\."):
        decoded("notes.txt", data)


@pytest.mark.parametrize(("name", "reason"), [("absent", "No such file"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        list(texts([str(tmp_path / name)]))


def test_a_files_name_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refusal:
        list(texts([str(tmp_path / "\x1b[31mred")]))
    assert r"\u001b[31mred" in str(refusal.value)
    assert "\x1b" not in str(refusal.value)
