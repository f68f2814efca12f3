"""The price list's data classes as rows: each rule of the adapter, on lists made for it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from service.domain.prices import Free, Price, PriceBook, PriceContext, PriceRow, Unknown
from service.pricebook.genai import rows_of

OCTOBER, NOVEMBER = date(2026, 10, 14), date(2026, 11, 1)
MICROSECOND = timedelta(microseconds=1)
NIGHT = TimeOfDateConstraint(time(1, tzinfo=UTC), time(4, tzinfo=UTC))


def provider(prices: Any, variants: list[PriceVariant] | None = None, name: str = "Large") -> Provider:
    model = ModelInfo(name, ClauseEquals(name), prices=prices, price_variants=variants)
    return Provider("acme", "Acme", "x", models=[model])


def rows(prices: Any, variants: list[PriceVariant] | None = None, counts: Counter[str] | None = None) -> list[PriceRow]:
    return rows_of([provider(prices, variants)], source="list 1", revision="abc", checked="2026-11-10", left_out=counts)


def conditional(*items: tuple[Any, str]) -> list[ConditionalPrice]:
    return [ConditionalPrice(constraint, prices=price(dollars)) for constraint, dollars in items]


def price(dollars: str, **more: str) -> ModelPrice:
    return ModelPrice(input_mtok=Decimal(dollars), **{key: Decimal(value) for key, value in more.items()})


def since(day: date) -> StartDateConstraint:
    return StartDateConstraint(day)


def at(day: date, hour: int = 0) -> datetime:
    return datetime(day.year, day.month, day.day, hour, tzinfo=UTC)


def ask(found: list[PriceRow], when: datetime, tier: str = "standard", key: str = "input_mtok") -> str:
    answer = PriceBook([found]).price("acme", "large", when, PriceContext(tier))
    if isinstance(answer, Price):
        return str(answer.row.rates[key].base) if key in answer.row.rates else "no rate"
    return answer.missing if isinstance(answer, Unknown) else "free"


def test_a_plain_price_is_one_row_that_always_holds_and_says_where_it_is_from() -> None:
    (found,) = rows(price("2.5", output_mtok="10"))
    assert (found.provider, found.model, found.service_tier) == ("acme", "large", "standard")
    assert (found.start, found.end, found.windows, found.free) == (None, None, (), False)
    assert {key: str(rate.base) for key, rate in found.rates.items()} == {"input_mtok": "2.5", "output_mtok": "10"}
    assert (found.source, found.revision, found.checked) == ("list 1", "abc", "2026-11-10")


def test_a_date_is_midnight_utc_inclusive_and_ends_the_row_before_it() -> None:
    found = rows(conditional((None, "1"), (since(OCTOBER), "2"), (since(NOVEMBER), "3")))
    assert [(row.start, row.end) for row in found] == [
        (None, at(OCTOBER)),
        (at(OCTOBER), at(NOVEMBER)),
        (at(NOVEMBER), None),
    ]
    times = (at(OCTOBER) - MICROSECOND, at(OCTOBER), at(NOVEMBER) - MICROSECOND, at(NOVEMBER))
    assert [ask(found, when) for when in times] == ["1", "2", "2", "3"]


def test_a_list_that_begins_with_a_date_has_no_price_before_it() -> None:
    found = rows(conditional((since(OCTOBER), "1")))
    assert (ask(found, at(OCTOBER) - MICROSECOND), ask(found, at(OCTOBER))) == ("date", "1")


def test_of_two_dated_prices_in_force_the_later_in_the_list_holds_whatever_its_date() -> None:
    found = rows(conditional((None, "1"), (since(NOVEMBER), "2"), (since(OCTOBER), "3")))
    assert [ask(found, when) for when in (at(OCTOBER) - MICROSECOND, at(OCTOBER), at(NOVEMBER))] == ["1", "3", "3"]


def test_hours_hold_from_the_last_date_before_them_and_not_earlier() -> None:
    found = rows(conditional((None, "1"), (since(OCTOBER), "2"), (NIGHT, "4")))
    assert ask(found, at(OCTOBER, 2) - timedelta(days=1)) == "1"
    assert [ask(found, at(OCTOBER, hour)) for hour in (0, 1, 3, 4)] == ["2", "4", "4", "2"]
    assert ask(found, at(OCTOBER, 1) - MICROSECOND) == "2"
    assert ask(found, at(OCTOBER, 4) - MICROSECOND) == "4"


def test_hours_end_with_the_next_date_after_them() -> None:
    found = rows(conditional((None, "1"), (NIGHT, "4"), (since(OCTOBER), "2")))
    assert ask(found, at(OCTOBER, 2) - timedelta(days=1)) == "4"
    assert ask(found, at(OCTOBER, 2)) == "2"


def test_hours_without_any_date_always_hold_also_past_midnight_and_in_another_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    late = TimeOfDateConstraint(time(7, 30, tzinfo=tokyo), time(1, 30, tzinfo=tokyo))  # 22:30 to 16:30 UTC
    found = rows(conditional((None, "1"), (late, "4")))
    answers = [
        ask(found, datetime(2026, 11, 28, *clock, tzinfo=UTC)) for clock in ((16, 29), (16, 30), (22, 29), (22, 30))
    ]
    assert answers == ["4", "1", "1", "4"]


def test_hours_that_end_where_they_begin_never_hold() -> None:
    never = TimeOfDateConstraint(time(1, tzinfo=UTC), time(1, tzinfo=UTC))
    assert [row.windows for row in rows(conditional((None, "1"), (never, "4")))] == [()]


def test_of_two_hours_that_overlap_the_later_in_the_list_holds() -> None:
    second = TimeOfDateConstraint(time(2, tzinfo=UTC), time(6, tzinfo=UTC))
    found = rows(conditional((None, "1"), (NIGHT, "4"), (second, "5")))
    assert [ask(found, at(OCTOBER, hour)) for hour in (1, 2, 3, 5, 6)] == ["4", "5", "5", "5", "1"]


@pytest.mark.parametrize(
    ("when", "tier"),
    [
        ({"processing": "batch"}, "batch"),
        ({"service_tier": "flex"}, "flex"),
        ({"service_tier": "priority"}, "priority"),
        ({"service_tier": "fast"}, "fast"),
        ({"speed": "fast"}, "fast"),
    ],
)
def test_a_variant_is_a_service_tier_from_its_date_on_and_unknown_before(when: dict[str, str], tier: str) -> None:
    found = rows(price("2"), [PriceVariant(when, price("1"), since(OCTOBER))])
    assert ask(found, at(OCTOBER) - MICROSECOND, tier) == "date"
    assert ask(found, at(OCTOBER), tier) == "1"
    assert ask(found, at(OCTOBER)) == "2"


def test_a_variant_takes_fees_per_call_from_the_standard_row_of_the_time_and_no_token_rate() -> None:
    standard = [
        ConditionalPrice(prices=price("2", cache_read_mtok="0.5", web_searches_kcount="10", audio_hours="6")),
        ConditionalPrice(since(NOVEMBER), prices=price("2", cache_read_mtok="0.5", web_searches_kcount="14")),
    ]
    found = rows(standard, [PriceVariant({"processing": "batch"}, price("1"), since(OCTOBER))])
    for day, fee in ((OCTOBER, "10"), (NOVEMBER, "14")):
        assert ask(found, at(day), "batch", "web_searches_kcount") == fee
        assert ask(found, at(day), "batch") == "1"
        for own in ("cache_read_mtok", "audio_hours"):
            assert ask(found, at(day), "batch", own) == "no rate"


def test_of_two_variants_in_force_the_first_of_the_list_decides_key_by_key() -> None:
    variants = [
        PriceVariant({"processing": "batch"}, price("3"), since(NOVEMBER)),
        PriceVariant({"processing": "batch"}, price("1", output_mtok="5"), since(OCTOBER)),
    ]
    found = rows(price("2"), variants)
    assert [ask(found, when, "batch") for when in (at(NOVEMBER) - MICROSECOND, at(NOVEMBER))] == ["1", "3"]
    assert ask(found, at(NOVEMBER), "batch", "output_mtok") == "5"


def test_an_empty_variant_is_a_tier_without_a_price_and_never_the_standard_one() -> None:
    found = rows(price("2"), [PriceVariant({"processing": "batch"}, ModelPrice(), since(OCTOBER))])
    assert ask(found, at(OCTOBER), "batch") == "rates"


def test_what_a_standard_call_reports_adds_no_row_and_other_conditions_are_left_out_and_counted() -> None:
    counts: Counter[str] = Counter()
    variants = [
        PriceVariant({"service_tier": "default"}, ModelPrice()),
        PriceVariant({"route": "eu"}, price("3")),
        PriceVariant({"processing": "batch", "service_tier": "flex"}, price("0.5")),
        PriceVariant({"processing": "batch"}, price("1"), NIGHT),
    ]
    assert [row.service_tier for row in rows(price("2"), variants, counts)] == ["standard"]
    assert counts == {"unknown_variant": 3}


def test_a_threshold_that_ends_in_999_is_reached_and_any_other_exceeded() -> None:
    def tiered(start: int) -> ModelPrice:
        return ModelPrice(input_mtok=TieredPrices(Decimal(1), [Tier(start, Decimal(2))]))

    (inclusive,), (exclusive,) = rows(tiered(199_999)), rows(tiered(200_000))
    answers = {
        tokens: [str(row.rates["input_mtok"].at(tokens)[0]) for row in (inclusive, exclusive)]
        for tokens in (199_999, 200_000, 200_001)
    }
    assert answers == {199_999: ["1", "1"], 200_000: ["2", "1"], 200_001: ["2", "2"]}


def test_five_minute_cache_writes_are_our_cache_writes_and_their_own_rate_wins() -> None:
    (found,) = rows(price("1", cache_write_mtok="9", cache_write_5m_mtok="1.25", cache_write_1h_mtok="2"))
    keys = {key: str(rate.base) for key, rate in found.rates.items()}
    assert keys == {"input_mtok": "1", "cache_write_mtok": "1.25", "cache_write_1h_mtok": "2"}


def test_a_rate_of_an_unknown_unit_is_kept_and_counted() -> None:
    counts: Counter[str] = Counter()
    (found,) = rows(price("1", input_smell_mtok="2"), counts=counts)
    assert "input_smell_mtok" in found.rates
    assert counts == {"unknown_unit": 1}


@pytest.mark.parametrize(
    ("prices", "reason"),
    [
        (ModelPrice(), None),
        (ModelPrice(input_mtok=None), None),
        (price("0", output_mtok="0"), "only_zeros"),
        (price("1000.01", output_mtok="1"), "rate_out_of_bounds"),
        (price("-1", output_mtok="1"), "rate_out_of_bounds"),
        (price("NaN"), "rate_out_of_bounds"),
        (price("Infinity"), "rate_out_of_bounds"),
        (ModelPrice(input_mtok=2.5), "rate_out_of_bounds"),  # type: ignore[arg-type]  # not exact
        (ModelPrice(input_mtok=TieredPrices(Decimal(1), [Tier(5, Decimal(2000))])), "rate_out_of_bounds"),
    ],
)
def test_no_rate_zeros_alone_and_rates_beyond_reason_are_no_price_and_never_free(
    prices: ModelPrice, reason: str | None
) -> None:
    counts: Counter[str] = Counter()
    found = rows(prices, counts=counts)
    assert ask(found, at(OCTOBER)) == "rates"
    assert counts == ({reason: 1} if reason else {})
    answer = PriceBook([found]).price("acme", "large", at(OCTOBER), PriceContext())
    assert not isinstance(answer, Free)


def test_a_rate_of_exactly_the_bound_and_one_zero_among_others_are_prices() -> None:
    assert ask(rows(price("1000")), at(OCTOBER)) == "1000"
    assert ask(rows(price("0", output_mtok="1")), at(OCTOBER)) == "0"


def test_a_bad_rate_of_a_variant_makes_that_tier_unknown_and_leaves_the_standard_one() -> None:
    found = rows(price("2"), [PriceVariant({"processing": "batch"}, price("5000"), since(OCTOBER))])
    assert (ask(found, at(OCTOBER), "batch"), ask(found, at(OCTOBER))) == ("rates", "2")


def test_a_constraint_of_a_new_kind_is_left_out_and_counted() -> None:
    counts: Counter[str] = Counter()
    items = [ConditionalPrice(prices=price("1")), ConditionalPrice(object(), prices=price("9"))]  # type: ignore[arg-type]
    assert ask(rows(items, counts=counts), at(OCTOBER)) == "1"
    assert counts == {"unknown_constraint": 1}
