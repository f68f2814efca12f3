"""What a terminal would act on never reaches it from a text, a file name or a vocabulary."""

import sys

import pytest

from service.cli.output import print_table, printable, printable_bytes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 你好 📧", "plain text, 你好 📧"),
        ("a\tb\nc\rd", r"a\tb\nc\rd"),
        ("back\\slash", r"back\\slash"),
        ("\x1b[31mred", r"\u001b[31mred"),
        ("right \u202e left", r"right \u202e left"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("name-\udcff", r"name-\xff"),
    ],
)
def test_control_and_format_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b" world", '" world"'),
        (b"", '""'),
        ('say "你"'.encode(), r'"say \"你\""'),
        ("你".encode()[:2], r'"\xe4\xbd"'),
        (b"a\xffb\\\n", r'"a\xffb\\\n"'),
    ],
)
def test_a_piece_is_quoted_with_its_loose_bytes_as_escapes(data: bytes, shown: str) -> None:
    assert printable_bytes(data) == shown


def test_without_a_terminal_a_table_is_tab_separated_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a", "b"), [(1, "x\ty"), (2, printable_bytes(b"\\"))])
    assert capsys.readouterr().out == '1\tx\\ty\n2\t"\\\\"\n'


def test_on_a_terminal_a_table_reads_no_markup_in_its_cells(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    print_table(("piece",), [("[bold]x[/bold] [/nothing] :smile: \x1b[31m",)])
    out = capsys.readouterr().out
    assert r"[bold]x[/bold] [/nothing] :smile: \u001b[31m" in out
    assert "piece" in out
