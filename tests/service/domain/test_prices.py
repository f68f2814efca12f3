"""The price book on small books of its own: dates, hours, tiers, layers, names, multipliers, each at its boundary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from service.domain.prices import (
    Free,
    Multiplier,
    Price,
    PriceBook,
    PriceContext,
    PriceNames,
    PriceRow,
    Rate,
    Tier,
    Unknown,
    Window,
    within_reason,
)

STANDARD, BATCH = PriceContext(), PriceContext("batch")
START = datetime(2026, 10, 14, tzinfo=UTC)
WEEKDAYS, EVERY_DAY = frozenset(range(5)), frozenset(range(7))
SATURDAY = datetime(2026, 11, 28, 2, tzinfo=UTC)
MONDAY = datetime(2026, 11, 30, 2, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def row(dollars: str | None = "1", **fields: Any) -> PriceRow:
    rates: Mapping[str, Rate] = {"input_mtok": Rate(Decimal(dollars))} if dollars is not None else {}
    return PriceRow(**{"provider": "acme", "model": "large", "rates": rates} | fields)


def dollars(found: Price | Free | Unknown) -> str:
    """The input rate of a price, or why there is none."""
    if isinstance(found, Unknown):
        return found.missing
    return "free" if isinstance(found, Free) else str(found.row.rates["input_mtok"].base)


def ask(book: PriceBook, at: datetime = MONDAY, context: PriceContext = STANDARD, model: str = "large") -> str:
    return dollars(book.price("acme", model, at, context))


def test_a_model_without_a_row_has_no_price() -> None:
    assert ask(PriceBook([[row()]]), model="small") == "model"


def test_a_price_starts_with_the_first_instant_of_its_date_and_not_before() -> None:
    book = PriceBook([[row("1", end=START), row("2", start=START)]])
    assert (ask(book, START - MICROSECOND), ask(book, START)) == ("1", "2")


def test_the_same_instant_in_another_time_zone_has_the_same_price() -> None:
    book = PriceBook([[row("1", end=START), row("2", start=START)]])
    tokyo = timezone(timedelta(hours=9))
    assert ask(book, START.astimezone(tokyo)) == "2"
    assert ask(book, (START - MICROSECOND).astimezone(tokyo)) == "1"


def test_before_the_first_and_after_the_last_date_the_price_is_unknown() -> None:
    book = PriceBook([[row(start=START, end=START + timedelta(days=1))]])
    assert ask(book, START - MICROSECOND) == "date"
    assert ask(book, START + timedelta(days=1)) == "date"


def test_a_service_tier_is_never_priced_as_another() -> None:
    book = PriceBook([[row()]])
    assert {tier: ask(book, context=PriceContext(tier)) for tier in ("batch", "flex", "priority", "fast")} == {
        "batch": "service_tier",
        "flex": "service_tier",
        "priority": "service_tier",
        "fast": "service_tier",
    }


def test_a_service_tier_is_unknown_before_its_date_though_the_standard_price_is_not() -> None:
    book = PriceBook([[row("2"), row("1", service_tier="batch", start=START)]])
    assert ask(book, START - MICROSECOND, BATCH) == "date"
    assert ask(book, START, BATCH) == "1"
    assert ask(book, START - MICROSECOND) == "2"


def test_a_row_without_rates_is_unknown_and_only_a_row_that_says_so_is_free() -> None:
    assert ask(PriceBook([[row(None)]])) == "rates"
    assert ask(PriceBook([[row(None, free=True)]])) == "free"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (MONDAY, "2"),
        (SATURDAY, "1"),
        (MONDAY.replace(hour=1), "2"),
        (MONDAY.replace(hour=1) - MICROSECOND, "1"),
        (MONDAY.replace(hour=4) - MICROSECOND, "2"),
        (MONDAY.replace(hour=4), "1"),
    ],
)
def test_hours_count_from_their_first_instant_to_before_their_last_on_their_days(at: datetime, expected: str) -> None:
    peak = row("2", windows=(Window(WEEKDAYS, time(1), time(4)),))
    for rows in ([row("1"), peak], [peak, row("1")]):
        assert ask(PriceBook([rows]), at) == expected


@pytest.mark.parametrize(
    ("at", "inside"),
    [
        (datetime(2026, 11, 27, 22, tzinfo=UTC), True),  # Friday
        (datetime(2026, 11, 28, 1, 59, tzinfo=UTC), True),  # the night to Saturday belongs to Friday
        (datetime(2026, 11, 28, 2, tzinfo=UTC), False),
        (datetime(2026, 11, 28, 22, tzinfo=UTC), False),
        (datetime(2026, 11, 30, 1, tzinfo=UTC), False),  # the night to Monday belongs to Sunday
    ],
)
def test_hours_past_midnight_belong_to_the_day_on_which_they_start(at: datetime, inside: bool) -> None:
    assert Window(WEEKDAYS, time(22), time(2)).holds(at) is inside


def test_hours_that_end_where_they_begin_are_the_whole_day() -> None:
    window = Window(frozenset({5}), time(), time())
    assert window.holds(SATURDAY)
    assert not window.holds(SATURDAY + timedelta(days=1))


@pytest.mark.parametrize(
    ("tier", "input_tokens", "expected"),
    [
        (Tier(200_000, Decimal(2)), 200_000, "1"),
        (Tier(200_000, Decimal(2)), 200_001, "2"),
        (Tier(200_000, Decimal(2), inclusive=True), 199_999, "1"),
        (Tier(200_000, Decimal(2), inclusive=True), 200_000, "2"),
    ],
)
def test_a_threshold_is_exceeded_or_reached_as_its_row_says(tier: Tier, input_tokens: int, expected: str) -> None:
    assert str(Rate(Decimal(1), (tier,)).at(input_tokens)[0]) == expected


def test_of_several_tiers_the_highest_that_applies_counts() -> None:
    rate = Rate(Decimal(1), (Tier(32_000, Decimal(2)), Tier(128_000, Decimal(3))))
    assert [str(rate.at(tokens)[0]) for tokens in (32_000, 32_001, 128_000, 128_001)] == ["1", "2", "2", "3"]
    assert rate.at(128_001)[1] == Tier(128_000, Decimal(3))


def test_a_later_layer_goes_first_where_it_is_in_force_and_elsewhere_the_earlier_one_stays() -> None:
    book = PriceBook([[row("1"), row("0.5", service_tier="batch")], [row("2", start=START)]])
    assert ask(book, START - MICROSECOND) == "1"
    assert ask(book, START) == "2"
    assert ask(book, START, BATCH) == "0.5"


def test_a_later_layer_goes_before_the_hours_of_an_earlier_one() -> None:
    peak = row("2", windows=(Window(EVERY_DAY, time(1), time(4)),))
    assert ask(PriceBook([[row("1"), peak], [row("3")]]), MONDAY) == "3"


def test_a_later_layer_can_take_a_price_back() -> None:
    assert ask(PriceBook([[row("1")], [row(None)]])) == "rates"


def test_an_id_goes_before_a_pattern_in_its_layer_and_a_later_pattern_before_an_earlier_id() -> None:
    pattern, exact = row("2", model="lar*"), row("1")
    assert ask(PriceBook([[pattern, exact]])) == "1"
    assert ask(PriceBook([[exact], [pattern]])) == "2"


def test_a_pattern_matches_whole_names_and_its_dots_are_dots() -> None:
    book = PriceBook([[row("1", model="v1.5-*:free")]])
    assert ask(book, model="v1.5-x:free") == "1"
    assert [ask(book, model=name) for name in ("v1.5-x:free2", "v1x5-y:free", "a-v1.5-x:free")] == ["model"] * 3


def test_a_sellers_own_rows_go_before_those_of_the_price_datas_name_for_it() -> None:
    rows = [row("1", provider="data-name"), row("2", provider="acme", start=START)]
    book = PriceBook([rows], sellers={"acme": "data-name"})
    assert ask(book, START - MICROSECOND) == "1"
    assert ask(book, START) == "2"
    assert dollars(book.price("data-name", "large", START, STANDARD)) == "1"


def test_only_the_price_list_counts_under_the_price_datas_name_and_no_later_layer_does() -> None:
    patch, own = row("2", provider="data-name"), row("3", provider="data-name")
    assert ask(PriceBook([[row("1", provider="data-name")], [patch], [own]], sellers={"acme": "data-name"})) == "1"
    only = PriceBook([[], [patch], [row("4", provider="data-name", model="l*")]], sellers={"acme": "data-name"})
    assert only.find("acme", ("large",)) is None
    assert only.find("data-name", ("large",)) == "large"


def test_a_multiplier_of_the_price_datas_name_is_not_billed_to_another_provider() -> None:
    factor = Multiplier("data-name", {"region": "us"}, Decimal(2))
    book = PriceBook([[row("1", provider="data-name")]], [factor], sellers={"acme": "data-name"})
    assert ask(book, context=PriceContext(region="us")) == "region"


NAMES = PriceNames(
    {("acme", "large-latest"): "large", ("acme", "large"): "large"},
    {"acme": [(re.compile(r"large-\d{8}"), "large"), (re.compile(r"both-\d"), "large"), (re.compile("both-.*"), "x")]},
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("large", "large"),
        ("LARGE-Latest", "large-latest"),
        ("large-20261129", "large-20261129"),
        ("large-2026112", None),
        ("x-large-20261129", None),
        ("large-20261129-x", None),
        ("both-1", None),
        ("larger", None),
        ("larg", None),
    ],
)
def test_only_whole_names_find_a_price_and_one_that_two_models_claim_finds_none(
    name: str, expected: str | None
) -> None:
    book = PriceBook([[row("1"), row("9", model="x")]], names=NAMES)
    found = book.find("acme", (name,))
    assert found == expected
    if found is not None:
        assert ask(book, model=found) == "1"


def test_another_name_has_the_first_layers_price_under_a_patch_of_that_name_alone() -> None:
    book = PriceBook([[row("1", service_tier="batch"), row("2")], [row("3", model="large-latest")]], names=NAMES)
    assert ask(book, model="large-latest") == "3"
    assert ask(book, context=BATCH, model="large-latest") == "1"
    assert ask(book, model="large") == "2"
    assert ask(book, model="large-20261129") == "2"


def test_a_patch_of_an_id_leaves_the_ids_other_names_alone() -> None:
    book = PriceBook([[row("1")], [row("2")]], names=NAMES)
    assert ask(book, model="large-20261129") == "1"


def test_the_callers_own_spelling_goes_first_where_it_has_a_price_of_its_own() -> None:
    book = PriceBook([[row("1"), row("5", model="large-20240101")], [row("2")]])
    assert book.find("acme", ("large-20240101", "large")) == "large-20240101"
    assert book.find("acme", ("large-20250101", "large")) == "large"


def test_the_first_name_with_a_price_counts_whatever_layer_has_a_price_under_another() -> None:
    book = PriceBook([[row("1")], [], [row("2", model="main"), row("3", model="p-*")]], names=NAMES)
    assert book.find("acme", ("large-20261129", "main")) == "large-20261129"
    assert book.find("acme", ("other", "main", "large")) == "main"
    assert book.find("acme", ("p-1", "large")) == "p-1"


def test_a_region_counts_whatever_its_case_and_outer_blanks() -> None:
    assert factors(PriceBook([[row()]], [region("1.1")]), " US ") == ["1.1"]


def test_of_two_patterns_for_one_model_the_later_in_the_file_counts() -> None:
    assert ask(PriceBook([[], [row("1", model="l*"), row("2", model="*e")]])) == "2"
    assert ask(PriceBook([[], [row("2", model="*e"), row("1", model="l*")]])) == "1"


def test_a_seller_that_is_not_in_the_book_has_no_price_for_anothers_model() -> None:
    assert PriceBook([[row()]], names=NAMES).find("other", ("large", "large-latest")) is None


def region(factor: str, **fields: Any) -> Multiplier:
    return Multiplier(**{"provider": "acme", "match": {"region": "us"}, "factor": Decimal(factor)} | fields)


def factors(book: PriceBook, name: str | None, at: datetime = MONDAY, tier: str = "standard") -> list[str] | str:
    found = book.price("acme", "large", at, PriceContext(tier, name))
    return [str(m.factor) for m in found.multipliers] if isinstance(found, Price) else dollars(found)


def test_a_region_without_a_multiplier_has_no_price_and_no_region_has_no_multiplier() -> None:
    book = PriceBook([[row()]], [region("1.1")])
    assert factors(book, "us") == ["1.1"]
    assert factors(book, "eu") == "region"
    assert factors(book, None) == []


def test_a_multiplier_holds_for_its_models_its_provider_and_from_its_date() -> None:
    assert factors(PriceBook([[row()]], [region("1.1", models=frozenset({"small"}))]), "us") == "region"
    assert factors(PriceBook([[row()]], [region("1.1", provider="other")]), "us") == "region"
    dated = PriceBook([[row()]], [region("1.1", start=START)])
    assert (factors(dated, "us", START - MICROSECOND), factors(dated, "us", START)) == ("region", ["1.1"])


def test_a_multiplier_for_one_name_leaves_the_other_names_of_the_same_row_alone() -> None:
    book = PriceBook([[row()]], [region("1.1", models=frozenset({"large-latest"}))], names=NAMES)
    found = book.price("acme", "Large-Latest", MONDAY, PriceContext(region="us"))
    assert isinstance(found, Price)
    assert found.multipliers
    assert factors(book, "us") == "region"


def test_a_later_multiplier_replaces_an_earlier_one_of_its_kind_and_other_kinds_multiply() -> None:
    tier = region("0.5", match={"service_tier": "batch"})
    rows = [row(), row(service_tier="batch")]
    assert factors(PriceBook([rows], [region("1.1"), region("1.2")]), "us") == ["1.2"]
    assert factors(PriceBook([rows], [region("1.1"), tier]), "us", tier="batch") == ["1.1", "0.5"]
    assert factors(PriceBook([rows], [tier]), "us", tier="batch") == "region"
    assert factors(PriceBook([rows], [tier]), None, tier="batch") == ["0.5"]


def test_a_free_model_is_free_in_every_region() -> None:
    assert factors(PriceBook([[row(None, free=True)]]), "mars") == "free"


@pytest.mark.parametrize(
    ("key", "highest"),
    [
        ("input_mtok", 1000),
        ("input_mchars", 1000),
        ("audio_hours", 1000),
        ("output_video_seconds", 100),
        ("output_images", 100),
        ("web_searches_kcount", 10_000),
        ("input_gpixels", 10_000),
    ],
)
def test_a_rate_is_within_reason_up_to_its_bound(key: str, highest: int) -> None:
    assert within_reason(key, Decimal(highest))
    assert not within_reason(key, Decimal(highest) + Decimal("0.01"))
    assert within_reason(key, Decimal(0))
    assert not any(within_reason(key, Decimal(text)) for text in ("-0.01", "NaN", "Infinity", "-Infinity"))


def test_the_book_lists_its_rows_with_their_layers_first_the_one_that_goes_first() -> None:
    one, two, pattern = row("1"), row("2", start=START), row(None, model="*:free", free=True)
    book = PriceBook([[one], [two, pattern]])
    assert book.models == {("acme", "large"): [(1, two), (0, one)], ("acme", "*:free"): [(1, pattern)]}
    assert book.rows("acme", "large") == [two, one]
