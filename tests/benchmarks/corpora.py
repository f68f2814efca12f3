"""Text of this machine in four kinds: English, code, Chinese, and a mixture of many languages."""

from __future__ import annotations

import gettext
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SIZE = 2_000_000  # characters
SLICE = 4096  # bytes


def corpora(size: int = SIZE) -> dict[str, str]:
    """About ``size`` characters of each kind, as far as the machine has them."""
    kinds = {
        "english": _files([Path("/usr/share/common-licenses"), Path("/usr/share/doc")], ("", ".txt", ".rst", ".html")),
        "code": _files([Path(sysconfig.get_path("stdlib"))], (".py",)),
        "chinese": _catalogues("zh*"),
        "mixed": _catalogues("*"),
    }
    return {kind: text for kind, parts in kinds.items() if len(text := _joined(parts, size)) > 100_000}


def stored(folder: Path) -> None:
    """Write each kind into ``folder``, so that processes do not have to collect them anew."""
    for kind, text in corpora().items():
        (folder / kind).write_text(text, "utf-8", newline="")


def read(folder: Path) -> dict[str, str]:
    """The kinds that were stored."""
    return {path.name: path.read_bytes().decode() for path in sorted(folder.iterdir()) if path.suffix == ""}


def slices(text: str) -> tuple[list[str], list[str]]:
    """Slices of four kilobytes: those to warm up on, and those, each seen once, to time."""
    data = text.encode()
    parts = [data[start : start + SLICE].decode("utf-8", "ignore") for start in range(0, len(data) - SLICE, SLICE)]
    return parts[::2], parts[1::2]


def long_text(text: str, size: int, seed: int) -> str:
    """A text of ``size`` bytes: the lines of ``text`` in a random order, again and again where they are too few."""
    lines = text.splitlines(keepends=True)
    draw, found, length = random.Random(seed), list[bytes](), 0
    while length < size:
        draw.shuffle(lines)
        block = "".join(lines).encode()
        found.append(block)
        length += len(block)
    return b"".join(found)[:size].decode("utf-8", "ignore")


def _joined(parts: Iterator[str], most: int) -> str:
    found: list[str] = []
    size = 0
    for part in parts:
        found.append(part)
        size += len(part)
        if size >= most:
            break
    return "".join(found)[:most]


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
