"""Text of this machine in four kinds: English, code, Chinese, and a mixture of many languages."""

from __future__ import annotations

import gettext
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SIZE = 2_000_000
SLICE = 4096


def corpora() -> dict[str, str]:
    """About two million characters of each kind, as far as the machine has them."""
    library = Path(sysconfig.get_path("stdlib"))
    kinds = {
        "english": _files([Path("/usr/share/common-licenses"), Path("/usr/share/doc")], ("", ".txt", ".rst", ".html")),
        "code": _files([library], (".py",)),
        "chinese": _catalogues("zh*"),
        "mixed": _catalogues("*"),
    }
    return {kind: text for kind, parts in kinds.items() if len(text := _joined(parts)) > 100_000}


def slices(text: str) -> tuple[list[str], list[str]]:
    """Slices of four thousand characters: those to warm up on, and those, each seen once, to time."""
    parts = [text[start : start + SLICE] for start in range(0, len(text) - SLICE, SLICE)]
    return parts[::2], parts[1::2]


def _joined(parts: Iterator[str]) -> str:
    found: list[str] = []
    size = 0
    for part in parts:
        found.append(part)
        size += len(part)
        if size >= SIZE:
            break
    return "".join(found)[:SIZE]


def _files(folders: list[Path], suffixes: tuple[str, ...]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path.read_text("utf-8", errors="ignore")


def _catalogues(language: str) -> Iterator[str]:
    for path in sorted(Path("/usr/share/locale").glob(f"{language}/LC_MESSAGES/*.mo")):
        try:
            with path.open("rb") as file:
                messages = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # no public way to all
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for text in messages.values():
            if language == "*" or sum("\u4e00" <= c <= "\u9fff" for c in text) > len(text) * 0.4:
                yield text + "\n"
