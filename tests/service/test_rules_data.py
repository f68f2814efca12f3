"""The tables of counting rules: sourced, dated, and about models that exist."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

import pytest

from service.api.dialects.registry import FORMS
from service.api.services import Services
from service.configfile.rules import rule_book
from service.configfile.shipped import DATA
from service.domain.errors import InvalidConfig
from service.domain.images import ImageRule
from service.domain.request import Image
from service.domain.rules import Asked, Scoped

BOOK = rule_book()
TABLES: dict[str, list[Scoped]] = {
    "chat": list(BOOK.frames),
    "tools": list(BOOK.tools),
    "hosted_tool": list(BOOK.hosted),
    "schema": list(BOOK.schemas),
    "image": list(BOOK.images),
    "audio": list(BOOK.audio),
    "video": list(BOOK.video),
    "document": list(BOOK.documents),
}


def test_every_row_is_sourced_dated_and_names_wire_forms_that_exist() -> None:
    for row in chain(*TABLES.values()):
        assert row.scope.source
        assert row.scope.checked
        assert set(row.scope.dialects) <= set(FORMS)


@pytest.mark.parametrize("table", [name for name in TABLES if name != "hosted_tool"])
def test_the_first_row_of_a_table_holds_for_every_model(table: str) -> None:
    scope = TABLES[table][0].scope
    assert (scope.provider, scope.models, scope.sellers, scope.dialects, scope.start, scope.end) == (
        "*",
        (),
        (),
        (),
        "",
        "",
    )


def test_every_pattern_matches_a_model_of_its_provider(services: Services) -> None:
    models = services.weigher.catalog.models
    for row in chain(*TABLES.values()):
        own = [model.id for model in models if row.scope.provider in ("*", model.provider)]
        assert own, row.scope.provider
        for pattern in row.scope.models:
            assert any(fnmatchcase(name, pattern) for name in own), pattern


def test_every_row_decides_for_some_model_on_some_day(services: Services) -> None:
    models = [model for model in services.weigher.catalog.models if model.kind == "chat"]
    sellers = dict.fromkeys(["", *chain(*(row.scope.sellers for rows in TABLES.values() for row in rows))])
    asked = [
        Asked(model, seller or model.provider, dialect, day)
        for model in models
        for seller in sellers
        for dialect in ("openai_chat", "openai_responses")
        for day in ("2026-01-15", "2026-11-29")
    ]
    used = {id(rule) for one in asked for rule in (BOOK.of(one).frame, BOOK.of(one).tools, BOOK.of(one).image)}
    for table in ("chat", "tools", "image"):
        idle = [row.scope for row in TABLES[table] if id(row) not in used]
        assert not idle, idle


def test_no_picture_takes_more_than_one_of_unknown_size() -> None:
    """The bound for a picture that is not in the request holds for every size that could be."""
    sizes = [(1, 1), (1, 60_000), (60_000, 1), (3000, 2000), (8192, 8192), (60_000, 60_000), (1500, 900)]
    for rule in BOOK.images:
        for detail in ("", "low", "high", "auto", "original", "media_resolution_high"):
            unknown = rule.amount(Image("", detail=detail))
            for size in sizes:
                if refused(rule, detail, size):
                    continue
                known = rule.amount(Image("", *size, detail))
                assert unknown.low <= known.low <= known.high <= unknown.high, (rule.scope, detail, size)


def refused(rule: ImageRule, detail: str, size: tuple[int, int]) -> bool:
    """Whether the vendor takes no picture of that size: where there is no budget, beyond 30,000 patches."""
    limits = {"default": 0, **rule.budgets}
    budget = limits.get(detail, limits["default"])
    return rule.method == "patches" and not budget and -(-size[0] // rule.cell) * -(-size[1] // rule.cell) > rule.most


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[schema]]\nprovider = "*"\nrequest = 1\nsource = "s"\n', "needs 'low_percent'"),
        ('[[schema]]\nprovider = "*"\nrequest = "1"\nsource = "s"\n', "'request' must be a whole number"),
        ('[[tools]]\nprovider = "*"\nformat = "yaml"\nsource = "s"\n', "'format' must be one of"),
        ('[[tools]]\nprovider = "*"\ncolour = 1\nsource = "s"\n', "Unknown key 'colour'"),
        ('[[tools]]\nprovider = "*"\naccuracy = "sure"\nsource = "s"\n', "'accuracy' must be one of"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    for name in ("framing.toml", "images.toml", "media.toml", "caching.toml"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    (tmp_path / "tools.toml").write_text(text)
    with pytest.raises(InvalidConfig) as refusal:
        rule_book(tmp_path)
    assert problem in str(refusal.value)
    assert refusal.value.line > 0
