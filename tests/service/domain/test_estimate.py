"""Cost ranges before a call: what they hold, and what they say where something is not known."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.catalog import Accuracy, ModelSpec
from service.domain.costing import cost_of
from service.domain.counting import Breakdown, Count, TokenizerInfo
from service.domain.errors import InconsistentUsage
from service.domain.estimate import CacheUse, CallPlan, estimate, summed
from service.domain.money import canonical
from service.domain.prices import Free, Price, PriceRow, Rate, Tier, Unknown
from service.domain.usage import UNITS, Usage

NOW = datetime(2026, 11, 29, tzinfo=UTC)
CHAT = ModelSpec("p", "m", tokenizer="words", accuracy=Accuracy.EXACT, context_window=1000, max_output_tokens=100)
EMBEDDING = ModelSpec("p", "e", tokenizer="words", accuracy=Accuracy.EXACT, context_window=512, kind="embedding")


def counted(tokens: int, low: int | None = None, high: int | None = None) -> Count:
    low, high = tokens if low is None else low, tokens if high is None else high
    info = TokenizerInfo("words", "bpe", "python", "0" * 64)
    return Count("m", "p", "exact", info, tokens, low, high, "exact", (), 1, 1, None, None, Breakdown(tokens), ())


def price(**rates: str) -> Price:
    return Price(PriceRow("p", "m", {UNITS[name].price_key: Rate(Decimal(rate)) for name, rate in rates.items()}))


def three(result) -> list[str | None]:
    return [None if v is None else canonical(v) for v in (result.cost.low, result.cost.expected, result.cost.high)]


def test_the_documented_example():
    spec = ModelSpec("p", "m", tokenizer="t", accuracy=Accuracy.EXACT, context_window=128_000)
    plan = CallPlan(NOW, max_output_tokens=100)
    result = estimate(counted(4), spec, price(input="2.5", output="10"), plan, framing=7)
    assert three(result) == ["0.00001", "0.00101", "0.0010275"]
    assert (result.context.window, result.context.fits, result.context.remaining) == (128_000, True, 127_896)
    assert [notice.code for notice in result.notices] == ["framing_not_included"]
    assert [(c.unit.name, int(c.quantity), canonical(c.usd)) for c in result.cost.components] == [
        ("input", 4, "0.00001"),
        ("output", 100, "0.001"),
    ]


def test_expected_output_is_between_none_and_the_most():
    plan = CallPlan(NOW, max_output_tokens=100, expected_output_tokens=40)
    assert three(estimate(counted(10), CHAT, price(input="1", output="2"), plan)) == ["0.00001", "0.00009", "0.00021"]


def test_without_a_limit_the_models_own_is_taken_and_said():
    result = estimate(counted(10), CHAT, price(input="1", output="2"), CallPlan(NOW))
    assert result.max_output_tokens == 100
    assert three(result) == ["0.00001", "0.00021", "0.00021"]
    assert [notice.code for notice in result.notices] == ["max_output_assumed"]


def test_without_any_limit_there_is_no_upper_bound():
    spec = ModelSpec("p", "m", tokenizer="t", accuracy=Accuracy.EXACT)
    result = estimate(counted(10), spec, price(input="1", output="2"), CallPlan(NOW))
    assert three(result) == ["0.00001", "0.00001", None]
    assert [notice.code for notice in result.notices] == ["max_output_unknown"]


def test_where_no_limit_is_known_what_is_left_of_the_window_is_taken_and_fits():
    spec = ModelSpec("p", "m", tokenizer="t", accuracy=Accuracy.EXACT, context_window=1000)
    result = estimate(counted(10, 8, 20), spec, price(input="1", output="2"), CallPlan(NOW), framing=5)
    assert result.max_output_tokens == 975
    assert (result.context.fits, result.context.remaining) == (True, 15)


def test_a_limit_above_the_models_own_is_pointed_out():
    result = estimate(counted(10), CHAT, price(input="1", output="2"), CallPlan(NOW, max_output_tokens=101))
    assert [notice.code for notice in result.notices] == ["max_output_above_model"]


def test_cache_writes_are_the_dearest_way_and_reads_the_cheapest():
    """K17: 100,000 tokens at $3: at worst 0.60 written for an hour, 0.375 for five minutes; at best 0.03 all read."""
    of = price(input="3", output="15", cache_read="0.3", cache_write="3.75", cache_write_1h="6")
    spec = ModelSpec("p", "m", tokenizer="t", accuracy=Accuracy.EXACT, context_window=200_000)
    hour = CallPlan(NOW, max_output_tokens=0, cache=CacheUse(100_000, "1h"))
    five = CallPlan(NOW, max_output_tokens=0, cache=CacheUse(0, "5m"))
    assert three(estimate(counted(100_000), spec, of, hour)) == ["0.03", "0.03", "0.6"]
    assert three(estimate(counted(100_000), spec, of, five)) == ["0.3", "0.375", "0.375"]


def test_cache_reads_lower_the_low_bound_only_where_the_caller_says_they_are_possible():
    of = price(input="3", output="15", cache_read="0.3")
    plan = CallPlan(NOW, max_output_tokens=0)
    assert three(estimate(counted(1000), CHAT, of, plan)) == ["0.003", "0.003", "0.003"]


def test_output_that_is_all_reasoning_is_the_dearest_where_reasoning_costs_more():
    plan = CallPlan(NOW, max_output_tokens=100, max_cost_usd=Decimal("0.00041"))
    result = estimate(counted(10), CHAT, price(input="1", output="2", reasoning="4"), plan)
    assert three(result) == ["0.00001", "0.00021", "0.00041"]
    assert result.affordable.output_tokens == 100


def test_writes_that_are_cheaper_than_input_lower_the_low_bound():
    plan = CallPlan(NOW, max_output_tokens=0, cache=CacheUse(0, "5m"))
    assert three(estimate(counted(100), CHAT, price(input="1", output="2", cache_write="0.5"), plan))[0] == "0.00005"


def test_one_hour_writes_without_a_rate_of_their_own_have_no_upper_bound():
    plan = CallPlan(NOW, max_output_tokens=0, cache=CacheUse(0, "1h"))
    result = estimate(counted(100), CHAT, price(input="3", output="15", cache_write="3.75"), plan)
    assert three(result) == ["0.0003", "0.000375", None]
    assert "cache_write_1h_unpriced" in [notice.code for notice in result.notices]


def test_a_free_model_is_free_whatever_it_answers():
    spec = ModelSpec("p", "m", tokenizer="t", accuracy=Accuracy.EXACT)
    assert three(estimate(counted(1), spec, Free(PriceRow("p", "m", {}, free=True)), CallPlan(NOW))) == ["0", "0", "0"]


def test_more_output_expected_than_allowed_is_refused():
    with pytest.raises(InconsistentUsage, match="expected_output_tokens"):
        estimate(counted(1), CHAT, price(input="1"), CallPlan(NOW, max_output_tokens=1, expected_output_tokens=2))


def test_cache_reads_may_reach_the_high_count():
    plan = CallPlan(NOW, max_output_tokens=0, cache=CacheUse(20))
    assert estimate(counted(10, 5, 20), CHAT, price(input="1", output="1", cache_read="0.1"), plan).cost.low > 0


def test_the_output_assumed_never_overfills_the_window():
    spec = ModelSpec("p", "m", tokenizer="t", accuracy=Accuracy.EXACT, context_window=100, max_output_tokens=100)
    result = estimate(counted(10), spec, price(input="1", output="1"), CallPlan(NOW), framing=5)
    assert (result.max_output_tokens, result.context.fits) == (85, True)


def test_more_cache_reads_than_input_is_refused():
    with pytest.raises(InconsistentUsage, match=r"cache\.read_tokens"):
        estimate(counted(10), CHAT, price(input="1", output="1"), CallPlan(NOW, cache=CacheUse(11)))


def test_the_high_count_may_reach_a_dearer_tier_than_the_expected_one():
    rate = Rate(Decimal(1), (Tier(150, Decimal(2)),))
    of = Price(PriceRow("p", "m", {"input_mtok": rate, "output_mtok": Rate(Decimal(0))}))
    assert three(estimate(counted(100, 90, 200), CHAT, of, CallPlan(NOW))) == ["0.00009", "0.0001", "0.0004"]


def test_an_unknown_price_makes_no_number_and_says_what_lacks():
    result = estimate(counted(10), CHAT, Unknown("date", "No price."), CallPlan(NOW, max_cost_usd=Decimal(1)))
    assert (result.cost.status, three(result), result.cost.missing) == ("unknown", [None] * 3, "date")
    assert "price_unknown" in [notice.code for notice in result.notices]
    assert (result.affordable.output_tokens, result.affordable.input_fits) == (None, None)


def test_a_price_without_an_output_rate_is_unknown_for_a_chat():
    result = estimate(counted(10), CHAT, price(input="1"), CallPlan(NOW, max_output_tokens=5))
    assert (result.cost.status, result.cost.missing) == ("unknown", "output")


def test_free_is_zero_in_all_three():
    result = estimate(counted(10), CHAT, Free(PriceRow("p", "m", {}, free=True)), CallPlan(NOW))
    assert (result.cost.status, three(result)) == ("free", ["0", "0", "0"])


@pytest.mark.parametrize(
    ("dollars", "tokens", "fits"),
    [("0.00003", 10, True), ("0.0000299", 9, True), ("0.00001", 0, True), ("0.0000099", 0, False), ("0", 0, False)],
)
def test_what_is_affordable_is_exact_at_its_boundary(dollars, tokens, fits):
    plan = CallPlan(NOW, max_cost_usd=Decimal(dollars))
    affordable = estimate(counted(10), CHAT, price(input="1", output="2"), plan).affordable
    assert (affordable.output_tokens, affordable.input_fits) == (tokens, fits)


@pytest.mark.parametrize(("tokens", "fits"), [(900, True), (901, False)])
def test_exactly_filling_the_window_fits(tokens, fits):
    context = estimate(
        counted(tokens), CHAT, price(input="1", output="1"), CallPlan(NOW, max_output_tokens=100)
    ).context
    assert (context.fits, context.remaining) == (fits, 900 - tokens)


def test_the_window_is_held_against_the_high_count():
    plan = CallPlan(NOW, max_output_tokens=100)
    assert estimate(counted(890, 880, 901), CHAT, price(input="1", output="1"), plan).context.fits is False


def test_an_embedding_counts_all_and_accepts_what_its_window_holds():
    """C22: 600 tokens sent to a model that embeds 512 are both numbers, not one of them."""
    result = estimate(counted(600), EMBEDDING, price(input="1"), CallPlan(NOW))
    assert (result.counted, result.accepted, result.max_output_tokens) == (600, 512, 0)
    assert three(result) == ["0.0006", "0.0006", "0.0006"]
    assert [notice.code for notice in result.notices] == ["input_truncated"]
    assert estimate(counted(512), EMBEDDING, price(input="1"), CallPlan(NOW)).notices == ()


def test_costs_of_several_calls_add_up_and_one_unknown_makes_all_unknown():
    plan = CallPlan(NOW, max_output_tokens=5)
    known = estimate(counted(10), CHAT, price(input="1", output="2"), plan).cost
    unknown = estimate(counted(10), CHAT, Unknown("model", ""), plan).cost
    assert canonical(summed([known, known]).high) == "0.00004"
    assert summed([known, unknown]).status == "unknown"
    assert summed([]).status == "priced"


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.sampled_from([None, "5m", "1h"]),
    st.data(),
)
def test_the_range_holds_every_way_the_call_can_be_billed(tokens, below, above, output, write, data):
    count = counted(tokens, max(0, tokens - below), tokens + above)
    reads = data.draw(st.integers(0, tokens))
    tiers = (Tier(data.draw(st.integers(1, 10**6)), Decimal(9)),)
    of = Price(
        PriceRow(
            "p",
            "m",
            {
                "input_mtok": Rate(Decimal(3), tiers),
                "output_mtok": Rate(Decimal(15)),
                "cache_read_mtok": Rate(Decimal("0.3")),
                "cache_write_mtok": Rate(Decimal("3.75"), (Tier(tiers[0].above_input, Decimal(11)),)),
                "cache_write_1h_mtok": Rate(data.draw(st.sampled_from([Decimal(2), Decimal(6)]))),
                "output_reasoning_mtok": Rate(data.draw(st.sampled_from([Decimal(3), Decimal(40)]))),
            },
        )
    )
    plan = CallPlan(NOW, max_output_tokens=output, cache=CacheUse(reads, write))
    result = estimate(count, CHAT, of, plan).cost
    true_input = data.draw(st.integers(count.low, count.high))
    true_reads = data.draw(st.integers(0, min(reads, true_input)))
    written = true_input - true_reads if write and data.draw(st.booleans()) else 0
    true_output = data.draw(st.integers(0, output))
    bill = cost_of(
        Usage(
            input_tokens=true_input,
            output_tokens=true_output,
            cache_read_tokens=true_reads,
            cache_write_tokens=written,
            cache_write_1h_tokens=written if write == "1h" else 0,
            reasoning_tokens=data.draw(st.integers(0, true_output)),
        ),
        of,
    ).usd
    assert result.low <= bill <= result.high
