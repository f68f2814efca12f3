"""Costs of known usage, to the last digit. Prices are fixtures: those of the day each case was reported."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.costing import cost_of
from service.domain.errors import InconsistentUsage
from service.domain.money import canonical
from service.domain.prices import Free, Multiplier, Price, PriceRow, Rate, Tier, Unknown
from service.domain.usage import UNITS, Usage

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def price(tiers: dict[str, tuple[int, str]] | None = None, factors: tuple[str, ...] = (), **rates: str) -> Price:
    """``input="3"`` is three dollars per million input tokens; ``tiers={"input": (200_000, "6")}`` a dearer rate."""
    table = {}
    for name, rate in rates.items():
        above = ()
        if tiers and name in tiers:
            start, dear = tiers[name]
            above = (Tier(start, Decimal(dear)),)
        table[UNITS[name].price_key] = Rate(Decimal(rate), above)
    multipliers = tuple(Multiplier("p", {"region": "us"}, Decimal(factor)) for factor in factors)
    return Price(PriceRow("p", "m", table), multipliers)


def usd(usage: Usage, of: Price) -> str:
    cost = cost_of(usage, of)
    assert cost.status == "priced"
    assert cost.usd is not None
    assert sum(component.usd for component in cost.components) == cost.usd
    return canonical(cost.usd)


SONNET = price(input="3", output="15", cache_read="0.3", cache_write="3.75", cache_write_1h="6")

CASES = {
    "K01 cached input is charged once": (
        Usage(input_tokens=2006, cache_read_tokens=1920, output_tokens=300),
        price(input="2.5", cache_read="1.25", output="10"),
        "0.005615",
    ),
    "K02 no float noise": (
        Usage(input_tokens=9126, cache_read_tokens=4864, output_tokens=3197),
        price(input="1.25", cache_read="0.125", output="10"),
        "0.0379055",
    ),
    "K03 writes are charged once": (
        Usage(input_tokens=3 + 12_304, cache_write_tokens=12_304, output_tokens=550),
        SONNET,
        "0.054399",
    ),
    "K04 a write price is no surcharge": (
        Usage(input_tokens=1000, cache_write_tokens=1000),
        price(input="3", cache_write="3.75", output="15"),
        "0.00375",
    ),
    "K05 all parts at the tier of the whole": (
        Usage(input_tokens=262_960, cache_read_tokens=257_955, output_tokens=1744),
        price(
            {"input": (200_000, "2.5"), "cache_read": (200_000, "0.625"), "output": (200_000, "15")},
            input="1.25",
            cache_read="0.3125",
            output="10",
        ),
        "0.199894375",
    ),
    "K06 cached is subtracted": (
        Usage(input_tokens=20_212, cache_read_tokens=16_298, output_tokens=931),
        price(input="0.5", cache_read="0.05", output="3"),
        "0.0055649",
    ),
    "K07 one-hour writes have their own rate": (
        Usage(input_tokens=344_139, cache_write_tokens=344_139, cache_write_1h_tokens=344_139),
        price(input="5", cache_write="6.25", cache_write_1h="10", output="25"),
        "3.44139",
    ),
    "K12 reads and writes beside plain input": (
        Usage(input_tokens=2600, cache_read_tokens=2000, cache_write_tokens=400),
        price(input="2", cache_read="0.2", cache_write="2.5", output="10"),
        "0.0018",
    ),
    "K16 the cached rate is its own": (
        Usage(input_tokens=3625, cache_read_tokens=2560, output_tokens=158),
        price(input="2.5", cache_read="1.25", output="10"),
        "0.0074425",
    ),
    "P05 short input stays at the base rate": (
        Usage(input_tokens=100_000),
        price({"input": (200_000, "4")}, input="2", output="10"),
        "0.2",
    ),
    "P06 the whole prompt selects the tier of its cached part": (
        Usage(input_tokens=240_000 + 10_000, cache_read_tokens=240_000),
        price({"cache_read": (200_000, "0.6")}, input="0", cache_read="0.3", output="1"),
        "0.144",
    ),
    "P07 written tokens count for the threshold": (
        Usage(input_tokens=278_000, cache_read_tokens=5000, cache_write_tokens=3000),
        price(
            {"input": (272_000, "4"), "cache_read": (272_000, "0.4"), "cache_write": (272_000, "5")},
            input="2",
            cache_read="0.2",
            cache_write="2.5",
            output="10",
        ),
        "1.097",
    ),
    "P10 tier and batch together": (
        Usage(input_tokens=300_000),
        price({"input": (272_000, "5")}, input="2.5", output="10"),
        "1.5",
    ),
    "P11 output selects no tier": (
        Usage(input_tokens=10_000, output_tokens=210_000),
        price({"input": (200_000, "4"), "output": (200_000, "15")}, input="2", output="10"),
        "2.12",
    ),
    "R01 reasoning is inside the output": (
        Usage(input_tokens=14_746, output_tokens=1944, reasoning_tokens=1360),
        price(input="30", output="180"),
        "0.7923",
    ),
    "R02 output with the thoughts added": (
        Usage(input_tokens=7477, output_tokens=2060 + 1939, reasoning_tokens=1939),
        price(input="1.25", output="10"),
        "0.04933625",
    ),
    "R04 reasoning at its own rate": (
        Usage(output_tokens=1000, reasoning_tokens=900),
        price(input="2", output="8", reasoning="3"),
        "0.0035",
    ),
    "B02 gpt-4o-mini priority": (
        Usage(input_tokens=9, output_tokens=2),
        price(input="0.25", output="1"),
        "0.00000425",
    ),
    "a fee per call": (
        Usage(input_tokens=1000, other={"web_searches": Decimal(3)}),
        price(input="3", output="15", web_searches="10"),
        "0.033",
    ),
    "a fee per request is charged once": (Usage(input_tokens=1000), price(input="1", requests="5"), "0.006"),
    "seconds at a rate per hour": (
        Usage(other={"audio_seconds": Decimal(90)}),
        price(audio_seconds="0.36"),
        "0.009",
    ),
    "images": (Usage(other={"output_images": Decimal(3)}), price(output_images="0.04"), "0.12"),
    "audio is a part of its side": (
        Usage(input_tokens=1000, input_audio_tokens=400, output_tokens=100, output_audio_tokens=60),
        price(input="1", input_audio="10", output="2", output_audio="20"),
        "0.00588",
    ),
    "cached audio": (
        Usage(input_tokens=1000, input_audio_tokens=400, cache_read_tokens=300, cache_audio_read_tokens=100),
        price(input="1", input_audio="10", cache_read="0.1", cache_audio_read="0.5", output="2"),
        "0.00347",
    ),
    "multipliers act on every rate": (
        Usage(input_tokens=1_000_000, cache_read_tokens=500_000, output_tokens=1_000_000),
        price(None, ("1.1",), input="3", cache_read="0.3", output="15"),
        "18.315",
    ),
    "N05 ten times a tenth is one": (Usage(input_tokens=10), price(input="100000"), "1"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cost_is_exact(name):
    usage, of, expected = CASES[name]
    assert usd(usage, of) == expected


@pytest.mark.parametrize(
    ("inclusive", "tokens", "expected"),
    [(False, 200_000, "0.4"), (False, 200_001, "0.800004"), (True, 199_999, "0.399998"), (True, 200_000, "0.8")],
)
def test_the_threshold_itself_belongs_to_the_tier_only_where_the_row_says_so(inclusive, tokens, expected):
    rate = Rate(Decimal(2), (Tier(200_000, Decimal(4), inclusive=inclusive),))
    assert usd(Usage(input_tokens=tokens), Price(PriceRow("p", "m", {"input_mtok": rate}))) == expected


def test_the_highest_tier_that_applies_is_taken():
    rate = Rate(Decimal(1), (Tier(32_000, Decimal(2)), Tier(128_000, Decimal(3))))
    of = Price(PriceRow("p", "m", {"input_mtok": rate}))
    assert [usd(Usage(input_tokens=n), of) for n in (32_000, 128_000, 129_000)] == ["0.032", "0.256", "0.387"]


@pytest.mark.parametrize(
    ("usage", "missing"),
    [
        (Usage(input_tokens=10, input_audio_tokens=5), "input_audio"),
        (Usage(output_tokens=10, output_image_tokens=5), "output_image"),
        (
            Usage(input_tokens=10, input_audio_tokens=5, cache_read_tokens=5, cache_audio_read_tokens=5),
            "cache_audio_read",
        ),
        (Usage(other={"web_searches": Decimal(1)}), "web_searches"),
        (Usage(other={"output_images": Decimal(1)}), "output_images"),
    ],
)
def test_a_unit_without_a_rate_makes_the_cost_unknown_and_is_named(usage, missing):
    cost = cost_of(usage, price(input="1", output="2"))
    assert (cost.status, cost.usd, cost.missing) == ("unknown", None, missing)
    assert [notice.code for notice in cost.notices] == ["unit_unpriced"]


def test_output_without_a_rate_is_unknown_not_free():
    cost = cost_of(Usage(input_tokens=5, output_tokens=5), price(input="1"))
    assert (cost.status, cost.missing) == ("unknown", "output")


@pytest.mark.parametrize(
    ("usage", "rate_of", "expected"),
    [
        (Usage(input_tokens=100, cache_read_tokens=100), "input_mtok", "0.0003"),
        (Usage(input_tokens=100, cache_write_tokens=100), "input_mtok", "0.0003"),
        (Usage(input_tokens=100, cache_write_tokens=100, cache_write_1h_tokens=100), "input_mtok", "0.0003"),
        (Usage(output_tokens=100, reasoning_tokens=100), "output_mtok", "0.0015"),
    ],
)
def test_cache_and_reasoning_fall_back_to_their_parents_rate_with_a_warning(usage, rate_of, expected):
    cost = cost_of(usage, price(input="3", output="15"))
    assert canonical(cost.usd) == expected
    assert [component.rate_of for component in cost.components] == [rate_of]
    assert [notice.code for notice in cost.notices] == ["rate_fallback"]


def test_a_one_hour_write_falls_back_to_the_write_rate_first():
    usage = Usage(input_tokens=100, cache_write_tokens=100, cache_write_1h_tokens=100)
    assert usd(usage, price(input="3", cache_write="3.75")) == "0.000375"


def test_free_is_zero_and_says_so():
    cost = cost_of(Usage(input_tokens=5), Free(PriceRow("p", "m", {}, free=True)))
    assert (cost.status, cost.usd) == ("free", 0)


def test_an_unknown_price_is_no_number():
    cost = cost_of(Usage(input_tokens=5), Unknown("date", "No price is known for that time."))
    assert (cost.status, cost.usd, cost.missing) == ("unknown", None, "date")


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"input_tokens": 10, "cache_read_tokens": 20}, "more than input_tokens"),  # K14
        ({"output_tokens": -100}, "output_tokens is negative"),  # K14
        ({"input_tokens": 10, "cache_read_tokens": 6, "cache_write_tokens": 5}, "more than input_tokens"),
        ({"input_tokens": 9, "cache_write_tokens": 5, "cache_write_1h_tokens": 6}, "more than cache_write_tokens"),
        ({"output_tokens": 5, "reasoning_tokens": 6}, "more than output_tokens"),
        ({"input_tokens": 5, "input_audio_tokens": 6}, "input_tokens"),
        ({"input_tokens": 9, "input_audio_tokens": 1, "cache_audio_read_tokens": 2}, "more than input_audio_tokens"),
        ({"output_tokens": 5, "reasoning_tokens": 3, "output_audio_tokens": 3}, "more than output_tokens"),
        ({"other": {"web_searches": Decimal(-1)}}, "web_searches is negative"),
        ({"other": {"web_searches": Decimal("NaN")}}, "not finite"),
        ({"other": {"input": Decimal(1)}}, "not known"),
    ],
)
def test_a_usage_that_contradicts_itself_is_refused(parts, problem):
    with pytest.raises(InconsistentUsage, match=problem):
        Usage(**parts)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=10, cache_read_tokens=10),
        Usage(input_tokens=10, cache_read_tokens=4, cache_write_tokens=6, cache_write_1h_tokens=6),
        Usage(output_tokens=6, reasoning_tokens=6),
        Usage(input_tokens=6, input_audio_tokens=3, input_image_tokens=3),
    ],
)
def test_a_part_may_be_the_whole(usage):
    assert sum(count for _, count in usage.leaves()) == usage.input_tokens + usage.output_tokens


def test_vendor_counts_that_leave_the_cache_out_add_up():
    """K10 and K11: 5 plain, 128,955 read and 1,253 written are 130,213 in all."""
    usage = Usage(input_tokens=5 + 128_955 + 1253, cache_read_tokens=128_955, cache_write_tokens=1253)
    assert dict(usage.leaves())["input"] == 5
    assert dict(Usage(input_tokens=117_231, cache_read_tokens=115_584).leaves())["input"] == 1647


counts = st.integers(0, 10**9)


@given(counts, counts, counts, counts, st.decimals(0, 1000, places=6), st.decimals(0, 1000, places=6))
def test_the_cost_is_the_sum_of_its_products_whatever_the_numbers(plain, read, written, output, low, high):
    usage = Usage(
        input_tokens=plain + read + written, cache_read_tokens=read, cache_write_tokens=written, output_tokens=output
    )
    of = price(input=str(high), cache_read=str(low), cache_write=str(high), output=str(low))
    million = Decimal(10**6)
    expected = (plain * high + read * low + written * high + output * low) / million
    assert cost_of(usage, of).usd == expected


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0", "0"), ("0.00", "0"), ("-0", "0"), ("10", "10"), ("1E+3", "1000"), ("2.50", "2.5"), ("1e-9", "0.000000001")],
)
def test_money_leaves_without_exponent_or_trailing_zeros(amount, text):
    assert canonical(Decimal(amount)) == text
