"""Writes the tables of this package anew, from what the installed reference libraries answer.

Run as ``python -m adapters.unicode.generate`` after an upgrade of tiktoken or tokenizers. Nothing is taken from a data
file: the libraries are asked about every code point, so that the tables hold what they do and not what they should do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from adapters.unicode.case import render_shifts
from adapters.unicode.probe_case import lowercase
from adapters.unicode.probe_classes import ALPHABETIC_MARK, PROPERTIES, category_runs, members
from adapters.unicode.probe_normalization import Normalization, probe
from adapters.unicode.ranges import from_code_points, render

_WIDTH = 116  # of a line inside the quotes: 120 columns less the indent and the quotes


def class_tables() -> str:
    """The source of ``class_tables.py``."""
    properties = {name: render(from_code_points(members(pattern))) for name, pattern in PROPERTIES.items()}
    return "\n".join(
        [
            _docstring("Character classes", "tiktoken"),
            "",
            "# General category and hexadecimal length of every run of code points, from U+0000 on.",
            *_assignment("CATEGORY_RUNS", category_runs()),
            "",
            "# Code points of other properties, hexadecimal, ranges inclusive.",
            *_dictionary("PROPERTIES", properties),
            "",
        ]
    )


def normalization_tables() -> str:
    """The source of ``normalization_tables.py``."""
    tables: Normalization = probe()
    classes = {number: render(from_code_points(group)) for number, group in enumerate(tables.classes, start=1)}
    return "\n".join(
        [
            _docstring("Normalization", "tokenizers"),
            "",
            "# Full canonical decompositions, hexadecimal, without the Hangul syllables.",
            *_assignment("CANONICAL", _mappings(tables.canonical)),
            "",
            "# Full compatibility decompositions, where they are not the canonical ones.",
            *_assignment("COMPATIBILITY", _mappings(tables.compatibility)),
            "",
            "# Pairs that compose, without Hangul.",
            *_assignment("COMPOSITIONS", _mappings(tables.compositions)),
            "",
            "# Combining marks by canonical combining class: 1 is the lowest class that exists, and so on upwards.",
            *_dictionary("COMBINING", classes),
            "",
        ]
    )


def case_tables() -> str:
    """The source of ``case_tables.py``."""
    return "\n".join(
        [
            _docstring("Small letters of tokenizers, and marks", "tiktoken"),
            "",
            "# Runs of letters with a small letter of one code point: first-last/step+distance, hexadecimal.",
            *_assignment("LOWERCASE", render_shifts(lowercase())),
            "",
            "# Combining marks with the property Alphabetic, ranges inclusive.",
            *_assignment("ALPHABETIC_MARKS", render(from_code_points(members(ALPHABETIC_MARK))).split()),
            "",
        ]
    )


def _docstring(subject: str, library: str) -> str:
    # Not the library's version: an upgrade that changes no answer changes no table.
    return f'"""{subject} of {library}. Written by adapters.unicode.generate; not edited by hand."""'


def _mappings(table: Mapping[str, str]) -> list[str]:
    """Entries such as ``c0=41+300``."""
    return [f"{_hexadecimal(key)}={_hexadecimal(table[key])}" for key in sorted(table)]


def _hexadecimal(text: str) -> str:
    return "+".join(f"{ord(character):x}" for character in text)


def _lines(items: Iterable[str], width: int) -> list[str]:
    """``items`` joined by blanks into lines of at most ``width``; every line but the last ends in a blank."""
    lines: list[str] = []
    line = ""
    for item in items:
        if line and len(line) + len(item) + 1 > width:
            lines.append(line)
            line = ""
        line += item + " "
    return [*lines, line.rstrip()]


def _assignment(name: str, items: Iterable[str]) -> list[str]:
    lines = _lines(items, _WIDTH - 2)
    return [f"{name} = (", *(f'    "{line}"' for line in lines), ")"]


def _dictionary(name: str, table: Mapping[str, str] | Mapping[int, str]) -> list[str]:
    rows = [f"{name} = {{"]
    for key, text in table.items():
        label = f'"{key}"' if isinstance(key, str) else str(key)
        lines = _lines(text.split(), _WIDTH - 6)
        if len(lines) == 1 and len(lines[0]) + len(label) + 9 <= 120:
            rows.append(f'    {label}: "{lines[0]}",')
        elif len(lines) == 1:
            rows += [f"    {label}:", f'        "{lines[0]}",']
        else:
            rows += [f"    {label}: (", *(f'        "{line}"' for line in lines), "    ),"]
    return [*rows, "}"]


def main() -> None:
    """Write the modules beside this one."""
    folder = Path(__file__).parent
    (folder / "class_tables.py").write_text(class_tables(), encoding="ascii")
    (folder / "case_tables.py").write_text(case_tables(), encoding="ascii")
    (folder / "normalization_tables.py").write_text(normalization_tables(), encoding="ascii")


if __name__ == "__main__":
    main()
