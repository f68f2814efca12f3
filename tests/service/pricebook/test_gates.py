"""The gates before a swap, each at its boundary."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, time
from decimal import Decimal

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

from service.pricebook import gates
from service.pricebook.gates import Facts, facts_of
from service.pricebook.reading import TableRefused
from tests.service.pricebook.price_server import CANARIES, core_providers

TODAY = date(2026, 11, 20)
CANARY = ("openai", "m0")
Prices = ModelPrice | list[ConditionalPrice]


def rates(**values: str) -> ModelPrice:
    return ModelPrice(**{key: Decimal(value) for key, value in values.items()})


def since(start: date | None, **values: str) -> ConditionalPrice:
    return ConditionalPrice(None if start is None else StartDateConstraint(start), prices=rates(**values))


def between(start: int, end: int, **values: str) -> ConditionalPrice:
    return ConditionalPrice(TimeOfDateConstraint(time(start), time(end)), prices=rates(**values))


def batch(rate: str, start: date | None = None) -> PriceVariant:
    constraint = None if start is None else StartDateConstraint(start)
    return PriceVariant({"processing": "batch"}, rates(input_mtok=rate), constraint)


def model(name: str, prices: Prices, variants: list[PriceVariant] | None = None) -> ModelInfo:
    return ModelInfo(id=name, match=ClauseEquals(name), prices=prices, price_variants=variants)


def seller(name: str, count: int, rate: str = "1", variants: int = 0) -> Provider:
    models = [model(f"m{i}", rates(input_mtok=rate), [batch(rate)] if i < variants else None) for i in range(count)]
    return Provider(id=name, name=name, api_pattern=name, models=models)


def canary(prices: Prices, variants: list[PriceVariant] | None = None) -> Facts:
    """A list of one model, which is the canary."""
    models = [model("m0", prices, variants)]
    return facts_of([Provider(id="openai", name="", api_pattern="", models=models)], [CANARY])


def refusal(gate: Callable[[], None]) -> tuple[str, str]:
    with pytest.raises(TableRefused) as caught:
        gate()
    return caught.value.reason, caught.value.detail


def test_the_packages_own_list_passes_every_gate_against_itself() -> None:
    facts = facts_of(core_providers(), CANARIES)
    gates.require_canaries(facts, CANARIES)
    gates.require_no_older(facts, facts, TODAY)
    gates.require_complete(facts, facts)
    gates.require_no_leap(facts, facts, TODAY)


def test_eighty_percent_of_the_models_are_enough() -> None:
    current = facts_of([seller("any", 10)], [])
    gates.require_complete(facts_of([seller("any", 8)], []), current)
    assert refusal(lambda: gates.require_complete(facts_of([seller("any", 7)], []), current)) == ("too_few_models", "")


@pytest.mark.parametrize("provider", gates.CORE_PROVIDERS)
def test_ninety_percent_of_each_core_provider_are_enough(provider: str) -> None:
    rest = seller("any", 100)
    current = facts_of([seller(provider, 20), rest], [])
    gates.require_complete(facts_of([seller(provider, 18), rest], []), current)
    fewer = facts_of([seller(provider, 17), rest], [])
    assert refusal(lambda: gates.require_complete(fewer, current)) == ("too_few_core_models", provider)
    gone = facts_of([rest], [])
    assert refusal(lambda: gates.require_complete(gone, current)) == ("too_few_core_models", provider)


def test_eighty_percent_of_the_models_with_variants_are_enough() -> None:
    current = facts_of([seller("any", 20, variants=10)], [])
    gates.require_complete(facts_of([seller("any", 20, variants=8)], []), current)
    fewer = facts_of([seller("any", 20, variants=7)], [])
    assert refusal(lambda: gates.require_complete(fewer, current)) == ("too_few_variants", "")


def test_a_model_without_a_rate_above_zero_does_not_count() -> None:
    current = facts_of([seller("any", 10)], [])
    assert refusal(lambda: gates.require_complete(facts_of([seller("any", 10, rate="0")], []), current)) == (
        "too_few_models",
        "",
    )


def test_more_models_and_new_providers_pass() -> None:
    current = facts_of([seller("any", 10)], [])
    gates.require_complete(facts_of([seller("any", 11), seller("openai", 1)], []), current)


@pytest.mark.parametrize("prices", [ModelPrice(), rates(input_mtok="0"), [since(None)]])
def test_a_canary_without_a_rate_is_missing(prices: Prices) -> None:
    assert refusal(lambda: gates.require_canaries(canary(prices), [CANARY])) == ("canary_missing", "openai/m0")


def test_a_canary_of_another_provider_is_missing() -> None:
    facts = facts_of([seller("azure", 1)], [CANARY])
    assert refusal(lambda: gates.require_canaries(facts, [CANARY])) == ("canary_missing", "openai/m0")


def test_the_newest_price_that_has_begun_tells_the_age() -> None:
    def begun(*starts: date) -> Facts:
        return canary([since(start, input_mtok="1") for start in starts])

    current = begun(date(2026, 11, 9), date(2026, 12, 1))
    gates.require_no_older(begun(date(2026, 11, 9)), current, TODAY)
    gates.require_no_older(begun(TODAY), current, TODAY)
    assert refusal(lambda: gates.require_no_older(begun(date(2026, 11, 8)), current, TODAY)) == ("older", "")
    later = date(2026, 12, 1)
    assert refusal(lambda: gates.require_no_older(begun(date(2026, 11, 9)), current, later)) == ("older", "")
    assert refusal(lambda: gates.require_no_older(begun(), current, TODAY)) == ("older", "")


def test_the_start_of_a_variant_tells_the_age_too() -> None:
    current = canary(rates(input_mtok="1"), [batch("1", date(2026, 11, 9))])
    assert refusal(lambda: gates.require_no_older(canary(rates(input_mtok="1")), current, TODAY)) == ("older", "")


MOVED = ("canary_moved", "openai/m0")


def leap(before: Prices, after: Prices) -> tuple[str, str] | None:
    try:
        gates.require_no_leap(canary(after), canary(before), TODAY)
    except TableRefused as error:
        return error.reason, error.detail
    return None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("2", "10", None),
        ("2", "10.01", MOVED),
        ("10", "2", None),
        ("10", "1.99", MOVED),
        ("0", "0.01", MOVED),
        ("0.01", "0", MOVED),
        ("0", "0", None),
    ],
)
@pytest.mark.parametrize("key", ["input_mtok", "output_mtok", "cache_read_mtok", "web_searches_kcount"])
def test_five_times_up_or_down_is_the_most_a_canary_may_move(
    key: str, before: str, after: str, expected: tuple[str, str] | None
) -> None:
    others = {"input_mtok": "1", "output_mtok": "1"}
    assert leap(rates(**others | {key: before}), rates(**others | {key: after})) == expected


def test_a_start_that_is_new_explains_a_leap() -> None:
    before = [since(None, input_mtok="1")]
    assert leap(before, [*before, since(TODAY, input_mtok="50")]) is None
    assert leap(rates(input_mtok="1"), [*before, since(date(2026, 11, 18), input_mtok="50")]) is None


def test_a_start_that_is_known_explains_nothing() -> None:
    start = date(2026, 11, 1)
    before = [since(None, input_mtok="1"), since(start, input_mtok="2")]
    assert leap(before, [since(None, input_mtok="1"), since(start, input_mtok="50")]) == MOVED


def test_taking_a_start_away_explains_nothing() -> None:
    assert leap([since(date(2026, 11, 1), input_mtok="1")], rates(input_mtok="50")) == MOVED


def test_a_price_that_begins_later_is_no_leap_yet() -> None:
    before = [since(None, input_mtok="1")]
    assert leap(before, [*before, since(date(2026, 11, 21), input_mtok="50")]) is None


def test_a_new_start_later_on_does_not_explain_a_leap_today() -> None:
    after = [since(None, input_mtok="50"), since(date(2026, 12, 1), input_mtok="1")]
    assert leap([since(None, input_mtok="1")], after) == MOVED


def test_history_that_is_summed_up_is_no_leap() -> None:
    before = [since(None, input_mtok="100"), since(date(2026, 11, 1), input_mtok="2")]
    assert leap(before, rates(input_mtok="2")) is None


@pytest.mark.parametrize("hour", [0, 7, 22])
def test_a_leap_at_one_hour_of_the_day_is_seen(hour: int) -> None:
    before = [since(None, input_mtok="1"), between(hour, (hour + 1) % 24, input_mtok="2")]
    after = [since(None, input_mtok="1"), between(hour, (hour + 1) % 24, input_mtok="20")]
    assert leap(before, after) == MOVED
    assert leap(before, before) is None


def test_the_top_tier_may_not_leap_either() -> None:
    def tiered(top: str) -> ModelPrice:
        return ModelPrice(input_mtok=TieredPrices(Decimal(1), [Tier(200_000, Decimal(top)), Tier(9, Decimal(1))]))

    assert leap(tiered("2"), tiered("10")) is None
    assert leap(tiered("2"), tiered("10.01")) == MOVED
    assert leap(tiered("2"), rates(input_mtok="1")) is None


@pytest.mark.parametrize(
    ("key", "expected"), [("input_mtok", MOVED), ("output_mtok", MOVED), ("cache_read_mtok", None)]
)
def test_a_canary_keeps_its_rates_for_input_and_output(key: str, expected: tuple[str, str] | None) -> None:
    every = {"input_mtok": "1", "output_mtok": "1", "cache_read_mtok": "1"}
    assert leap(rates(**every), rates(**{name: rate for name, rate in every.items() if name != key})) == expected


@pytest.mark.parametrize(
    ("after", "passes"),
    [
        ([batch("2.5")], True),
        ([batch("2.6")], False),
        ([batch("2.6", date(2026, 11, 18))], True),
        ([batch("2.6", date(2026, 11, 18)), batch("0.5")], True),
        ([batch("0.5"), batch("2.6", date(2026, 11, 18))], True),
        ([batch("2.6"), batch("0.5", date(2026, 11, 18))], False),
        (None, False),
    ],
)
def test_a_variant_may_not_leap_either(after: list[PriceVariant] | None, passes: bool) -> None:
    before = canary(rates(input_mtok="1"), [batch("0.5")])
    new = canary(rates(input_mtok="1"), after)
    if passes:
        gates.require_no_leap(new, before, TODAY)
    else:
        assert refusal(lambda: gates.require_no_leap(new, before, TODAY)) == MOVED


def test_other_models_may_move_as_they_like() -> None:
    before, after = facts_of([seller("openai", 3)], []), facts_of([seller("openai", 3, rate="900")], [])
    gates.require_no_leap(after, before, TODAY)


def test_a_leap_of_a_middle_tier_is_a_leap() -> None:
    def tiered(middle: str) -> ModelPrice:
        tiers = [Tier(1000, Decimal(middle)), Tier(2000, Decimal(3))]
        return ModelPrice(input_mtok=TieredPrices(Decimal(1), tiers))

    assert leap(tiered("2"), tiered("10")) is None
    assert leap(tiered("2"), tiered("10.01")) == MOVED
    assert leap(tiered("10"), tiered("1.99")) == MOVED


def test_a_charge_that_is_new_without_a_date_is_refused_for_a_canary_and_every_core_model() -> None:
    before, charged = rates(input_mtok="1"), rates(input_mtok="1", requests_kcount="5")
    assert leap(before, charged) == ("unit_added", "openai/m0")
    assert leap(before, rates(input_mtok="1", requests_kcount="0")) is None
    assert leap(before, [since(None, input_mtok="1"), since(TODAY, input_mtok="1", requests_kcount="5")]) is None

    def listed(provider: str, prices: ModelPrice) -> Facts:
        return facts_of([Provider(id=provider, name="", api_pattern="", models=[model("m1", prices)])], [])

    for provider in gates.CORE_PROVIDERS:
        old, new = listed(provider, before), listed(provider, charged)
        reason = refusal(lambda old=old, new=new: gates.require_no_leap(new, old, TODAY))  # type: ignore[misc]
        assert reason == ("unit_added", f"{provider}/m1")
    gates.require_no_leap(listed("other", charged), listed("other", before), TODAY)


def test_a_provider_of_twenty_models_may_not_vanish() -> None:
    rest = seller("any", 200)
    gone = facts_of([rest], [])
    gates.require_complete(gone, facts_of([rest, seller("small", 19)], []))
    current = facts_of([rest, seller("large", 20)], [])
    assert refusal(lambda: gates.require_complete(gone, current)) == ("provider_missing", "large")


@pytest.mark.parametrize(("rate", "passes"), [("2", True), ("2.01", False), ("0.5", True), ("0.49", False)])
def test_half_of_all_prices_may_move_by_two_at_most(rate: str, *, passes: bool) -> None:
    before = facts_of([seller("any", 21), seller("other", 19)], [])
    after = facts_of([seller("any", 21, rate=rate), seller("other", 19)], [])
    if passes:
        gates.require_no_leap(after, before, TODAY)
    else:
        assert refusal(lambda: gates.require_no_leap(after, before, TODAY)) == ("prices_moved", "")
