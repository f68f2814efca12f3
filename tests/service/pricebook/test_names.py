"""Which names of a price list find a price, and which models it adds to the catalog."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ModelInfo,
    ModelPrice,
    Provider,
)

from service.domain.catalog import Catalog, ModelSpec
from service.domain.pricenames import price_names
from service.domain.prices import PriceRow
from service.domain.resolution import Host
from service.pricebook import bundled_list
from service.pricebook.names import catalog_models, names_of, patched_models

CHAT = ModelPrice(input_mtok=Decimal(1), output_mtok=Decimal(2))
CLOUD = Host(
    "cloud",
    prefixes=("cloud/",),
    vendors=("maker",),
    marks=("maker.", "us.maker.", "eu.maker.", "regional.maker.", "global.maker."),
    drop_prefixes=("us.", "eu.", "regional.", "global.", "maker."),
    drop_suffixes=("-v1:0", "-v1"),
    neutral=("us.", "regional.", "maker.", "-v1:0", "-v1"),
    price_provider="data-cloud",
)


def provider(*models: tuple[str, Any], name: str = "acme", price: ModelPrice = CHAT) -> Provider:
    return Provider(name, name, "x", models=[ModelInfo(model, match, prices=price) for model, match in models])


def any_of(*clauses: Any) -> ClauseOr:
    return ClauseOr(list(clauses))


LARGE = any_of(
    ClauseEquals("Large-Latest"),
    ClauseRegex(r"^large-\d{8}$"),
    ClauseRegex(r"^open-\d"),
    ClauseRegex(r"^(a+)+$"),
    ClauseStartsWith("large-x"),
    ClauseEndsWith("/large"),
    ClauseContains("arg"),
    ClauseAnd([ClauseEquals("both"), ClauseContains("o")]),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("large", "large"),
        ("large-latest", "large"),
        ("large-20261129", "large"),
        ("large-20261129-x", None),
        ("open-1", None),
        ("aaaa", None),
        ("large-xl", None),
        ("acme/large", None),
        ("cargo", None),
        ("both", None),
    ],
)
def test_ids_whole_names_and_anchored_patterns_count_and_parts_of_names_never_do(
    name: str, expected: str | None
) -> None:
    names = names_of([provider(("Large", LARGE))])
    assert names.find("acme", name) == expected
    assert names.find("other", name) is None


def test_a_name_that_two_models_claim_means_neither_but_an_id_is_its_own() -> None:
    models = [("one", any_of(ClauseEquals("twice"), ClauseEquals("two"))), ("two", ClauseEquals("twice"))]
    names = names_of([provider(*models)])
    assert names.find("acme", "twice") is None
    assert names.find("acme", "two") == "two"


REGIONAL = any_of(ClauseStartsWith("maker.big"), ClauseContains("us.maker.big"), ClauseContains("eu.maker.big"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("regional.maker.big-v1:0", "regional.maker.big-v1:0"),
        ("maker.big-v1:0", "regional.maker.big-v1:0"),
        ("maker.big", "regional.maker.big-v1:0"),
        ("us.maker.big", "regional.maker.big-v1:0"),
        ("eu.maker.big", "regional.maker.big-v1:0"),
        ("big", "regional.maker.big-v1:0"),
        ("global.maker.big", "global.maker.big-v1:0"),
        ("jp.maker.big", None),
        ("global.big", None),
        ("other.big", None),
        ("bigger", None),
    ],
)
def test_a_clouds_id_counts_without_region_vendor_and_version_but_a_global_one_stays_global(
    name: str, expected: str | None
) -> None:
    listed = provider(
        ("regional.maker.big-v1:0", REGIONAL),
        ("global.maker.big-v1:0", ClauseContains("global.maker.big")),
        name="data-cloud",
    )
    assert names_of([listed], [CLOUD]).find("data-cloud", name) == expected


CATALOG = Catalog(
    [ModelSpec("maker", "big", ("big-latest",), tokenizer="words"), ModelSpec("maker", "small", tokenizer="words")],
    [Host("maker", prefixes=("maker/",), price_provider="data-maker"), CLOUD, Host("shop", ("shop/",), vendors=("*",))],
)


def added(*providers: Provider) -> dict[tuple[str, str], ModelSpec]:
    found = catalog_models(providers, CATALOG, source="list 1", checked="2026-11-10")
    return {(spec.provider, spec.id): spec for spec in found}


def test_models_the_catalog_finds_are_not_added_and_the_others_are_under_our_name_of_the_seller() -> None:
    listed = provider(("big", ClauseEquals("big")), ("Huge", any_of(ClauseEquals("huge-1"))), name="data-maker")
    found = added(listed, provider(("maker/big", ClauseEquals("x")), name="shop"))
    assert list(found) == [("maker", "huge")]
    spec = found["maker", "huge"]
    assert (spec.aliases, spec.tokenizer, spec.estimator, spec.kind) == (("huge-1",), None, None, "chat")
    assert (spec.source, spec.checked) == ("list 1", "2026-11-10")


def test_a_model_with_a_rate_for_input_alone_is_an_embedding() -> None:
    listed = provider(("vectors", ClauseEquals("v")), name="data-maker", price=ModelPrice(input_mtok=Decimal(1)))
    assert added(listed)["maker", "vectors"].kind == "embedding"


def test_an_id_that_begins_as_a_clouds_ids_do_is_the_clouds() -> None:
    catalog = Catalog(CATALOG.models, [Host("maker", price_provider="data-cloud"), CLOUD])
    listed = provider(("maker.other", ClauseEquals("maker.other")), name="data-cloud")
    (spec,) = catalog_models([listed], catalog, source="", checked="")
    assert spec.provider == "cloud"


def test_models_of_patches_are_added_once_and_patterns_never() -> None:
    rows = [PriceRow("maker", name, {}) for name in ("big-latest", "new", "new", "ne*", "listed")]
    found = patched_models(rows, CATALOG, [ModelSpec("maker", "listed")])
    assert [(spec.provider, spec.id) for spec in found] == [("maker", "new")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("big-latest", ("big-latest", "big")),
        ("big-20261129", ("big-20261129", "big", "big-latest")),
        ("ft:big-2026-11-29:us::1", ("ft:big-2026-11-29:us::1", "ft:big-2026-11-29", "ft:big")),
        (
            "cloud/us.maker.big-v1:0",
            ("us.maker.big-v1:0", "maker.big-v1:0", "big-v1:0", "big", "cloud/us.maker.big-v1:0", "big-latest"),
        ),
        ("cloud/eu.maker.big-v1", ("eu.maker.big-v1", "eu.maker.big", "cloud/eu.maker.big-v1")),
        ("cloud/global.maker.big", ("global.maker.big", "cloud/global.maker.big")),
        ("cloud/big", ("big", "cloud/big", "big-latest")),
        ("shop/maker/big", ("maker/big", "shop/maker/big")),
    ],
)
def test_a_sellers_price_is_looked_up_without_what_changes_no_price_and_nothing_else(
    name: str, expected: tuple[str, ...]
) -> None:
    found = CATALOG.find(name)
    assert price_names(found, CATALOG.hosts[found.provider]) == expected


@pytest.mark.parametrize(
    "regex",
    [
        "^(a|a)?(a|a)?(a|a)?x$",
        "^(a?){20}a{20}$",
        "^a?a?a?a?a?aaaaa$",
        "^(a)?(a)?(a)?(a)?(a)?aaaaa$",
        r"^a\d{1,500}b$",
        r"^a\d{100}b$",
        "^(?=a)a$",
        r"^(a)\1$",
        "^a.b$",
        "^" + "a" * 200 + "$",
    ],
)
def test_a_regular_expression_that_is_not_simple_names_nothing(regex: str) -> None:
    names = names_of([provider(("large", ClauseRegex(regex)))])
    assert not names.patterns


def test_every_anchored_expression_of_the_packages_own_list_is_simple() -> None:
    def expressions(match: Any) -> list[str]:
        nested = [text for clause in getattr(match, "or_", ()) for text in expressions(clause)]
        return [*nested, *([match.regex] if hasattr(match, "regex") else [])]

    providers = bundled_list().providers
    written = {text for p in providers for m in p.models for text in expressions(m.match) if text.endswith("$")}
    kept = {pattern.pattern for patterns in names_of(providers).patterns.values() for pattern, _ in patterns}
    assert len(written) > 40
    assert kept == written
