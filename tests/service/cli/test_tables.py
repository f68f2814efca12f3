"""Wide tables: as many as the width asks for, with texts shortened to cells and nothing of them read as markup."""

import sys

import pytest
from rich.cells import cell_len

from service.cli.tables import Column, print_columns

TEXTS = ["Hello, World!", "你好，世界！", "[bold]x[/bold] [/nothing]", ":smile: \x1b[31m", "const x = 1", "📧 Email"]


Capture = pytest.CaptureFixture[str]


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on standard output is a terminal of 80 columns without colours."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")


def wide(texts: list[str], others: int) -> list[Column]:
    columns = [Column(text, [number, 10 * number], text=True) for number, text in enumerate(texts)]
    return columns + [Column(f"other {number}", [f"0.{number}234", "unknown"]) for number in range(others)]


def test_off_a_terminal_a_row_is_one_line_without_a_heading(capsys: Capture) -> None:
    print_columns(Column("name", ["a\tb", "c"]), [Column("x", [1, 2], text=True), Column("y", ["[red]", "-"])])
    assert capsys.readouterr().out == "a\\tb\t1\t[red]\nc\t2\t-\n"


@pytest.mark.parametrize(("texts", "others"), [(1, 0), (6, 1), (6, 5), (20, 3)])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, texts: int, others: int
) -> None:
    on_terminal(monkeypatch)
    names = Column("name", ["a-rather-long-name/of-a-model", "short"])
    print_columns(names, wide([f"text {number}" for number in range(texts)], others))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= 80
    cells = [cell for line in lines if line.strip().startswith("short") for cell in line.split()[1:]]
    assert cells == [*(str(10 * number) for number in range(texts)), *["unknown"] * others]


def test_what_fits_side_by_side_is_one_table(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on_terminal(monkeypatch)
    print_columns(Column("name", ["a", "b"]), wide(["one", "two"], 2))
    assert capsys.readouterr().out.count("name") == 1


def test_columns_of_cjk_headings_stay_aligned(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on_terminal(monkeypatch)
    print_columns(Column("name", ["a", "b"]), wide(TEXTS, 1))
    heading, rule, *rows = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert {cell_len(line.rstrip()) for line in (heading, *rows)} == {cell_len(rule.rstrip())}
    assert "你好" in heading
    assert "…" in heading


def test_headings_and_cells_are_no_markup(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on_terminal(monkeypatch)
    print_columns(Column("name", ["[b]n[/b]"]), [Column("[i]h[/i]", ["[/x] :smile: \x1b[1m"], text=True)])
    out = capsys.readouterr().out
    assert "[b]n[/b]" in out
    assert "[i]h[/i]" in out
    assert r"[/x] :smile: \u001b[1m" in out
