"""Character classes of the regular expressions that tiktoken compiles."""

from __future__ import annotations

from functools import cache

from adapters.unicode import class_tables
from adapters.unicode.ranges import LAST_CODE_POINT, Ranges, parse, union


class UnknownProperty(ValueError):
    r"""A ``\p{..}`` names a property that the tables do not hold."""


@cache
def code_points(name: str) -> Ranges:
    r"""The code points of a property, as ranges.

    ``name`` is a general category (``Lu``), a group of them (``L``), a script of the table (``Han``), ``White_Space``,
    ``Word`` (what ``\w`` matches), ``Uppercase``, ``Lowercase`` or ``Any``. Raises ``UnknownProperty``.
    """
    if name == "Any":
        return ((0, LAST_CODE_POINT),)
    if name in class_tables.PROPERTIES:
        return parse(class_tables.PROPERTIES[name])
    categories = _categories()
    members = [category for category in categories if category == name or category[0] == name]
    if not members:
        groups = (category[0] for category in categories)
        known = ", ".join(sorted({*categories, *groups, *class_tables.PROPERTIES, "Any"}))
        raise UnknownProperty(f"No property {name!r} in the Unicode tables. Known: {known}.")
    return union(pair for category in members for pair in categories[category])


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    """Ranges by general category; the table holds the category and the length of each run of code points, in order."""
    categories: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for run in class_tables.CATEGORY_RUNS.split():
        end = start + int(run[2:], 16)
        categories.setdefault(run[:2], []).append((start, end - 1))
        start = end
    return categories
