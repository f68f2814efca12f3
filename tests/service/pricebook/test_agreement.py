"""Random usages over many models cost what two other computations say: a plain one here, and the price list's own.

Models with a defect of the list's own computation, listed below, are left out of the comparison with it.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices, TimeOfDateConstraint
from genai_prices.types import Usage as ListUsage

from service.configfile import load_catalog
from service.domain.costing import cost_of
from service.domain.prices import Price, PriceContext
from service.domain.pricing import Pricer
from service.domain.usage import Usage
from service.pricebook import bundled_list, price_book, priced_catalog

DRAW = random.Random(20261129)
FIRST, LAST = datetime(2025, 1, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC)
MILLION = Decimal(1_000_000)
PROVIDERS = (
    "openai",
    "anthropic",
    "google",
    "mistral",
    "x-ai",
    "deepseek",
    "groq",
    "cohere",
    "openrouter",
    "moonshotai",
)
TOKENS_ONLY = {"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok"}

# Where the list's own computation is wrong, ours differs on purpose, and other tests of this folder show it:
# - hours: a daily window is not combined with a date, so history is wrong in those hours, and weekdays do not exist;
# - nothing: a model without rates costs 0, and one whose every rate is 0 too; here the first is unknown, and the second
#   is free only where a source says so;
# - tiers: a service tier before its date, or one that is not modelled, silently costs the standard price;
# - patches: a dated row of ours replaces the list's, each with its source.


def _models() -> list[tuple[Provider, ModelInfo]]:
    """Six models of each of ten sellers, drawn among those that are priced by text tokens alone."""
    chosen = []
    for provider in bundled_list().providers:
        if provider.id in PROVIDERS:
            models = [model for model in provider.models if _plain(model)]
            chosen += [(provider, model) for model in DRAW.sample(models, min(len(models), 7))]
    return chosen


def _plain(model: ModelInfo) -> bool:
    rows = [model.prices] if isinstance(model.prices, ModelPrice) else [item.prices for item in model.prices]
    hours = not isinstance(model.prices, ModelPrice) and any(
        isinstance(item.constraint, TimeOfDateConstraint) for item in model.prices
    )
    keys = {key for row in rows for key, value in row.__dict__.items() if value is not None}
    rated = all(row.input_mtok and row.output_mtok for row in rows)
    return (
        not hours
        and rated
        and {k for k in keys if k.endswith("_mtok")} <= TOKENS_ONLY
        and "requests_kcount" not in keys
    )


def _usage() -> Usage:
    size = DRAW.choice([100, 5_000, 199_999, 200_000, 200_001, 272_000, 272_001, 900_000])
    read = DRAW.randint(0, size)
    written = DRAW.randint(0, size - read)
    output = DRAW.randint(0, 50_000)
    return Usage(
        input_tokens=size,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=DRAW.randint(0, written),
        reasoning_tokens=DRAW.randint(0, output),
    )


def _rate(row: ModelPrice, keys: tuple[str, ...], input_tokens: int) -> Decimal:
    value = next(getattr(row, key) for key in keys if getattr(row, key) is not None)
    if not isinstance(value, TieredPrices):
        return value
    above = [tier.price for tier in value.tiers if input_tokens > tier.start]
    return above[-1] if above else value.base


def _plainly(row: ModelPrice, usage: Usage) -> Decimal:
    """The cost by five products written out."""
    total = usage.input_tokens
    plain = total - usage.cache_read_tokens - usage.cache_write_tokens
    hour = usage.cache_write_1h_tokens
    return (
        plain * _rate(row, ("input_mtok",), total)
        + usage.cache_read_tokens * _rate(row, ("cache_read_mtok", "input_mtok"), total)
        + (usage.cache_write_tokens - hour) * _rate(row, ("cache_write_mtok", "input_mtok"), total)
        + hour * _rate(row, ("cache_write_1h_mtok", "cache_write_mtok", "input_mtok"), total)
        + usage.output_tokens * _rate(row, ("output_mtok",), total)
    ) / MILLION


@pytest.fixture(scope="module")
def pricer() -> Pricer:
    prices = bundled_list()
    catalog = priced_catalog(load_catalog(), prices)
    return Pricer(catalog, price_book(prices, catalog))


@pytest.fixture(scope="module")
def cases(pricer) -> list[tuple[Provider, ModelInfo, datetime, Usage, Price]]:
    """At least 200 usages over at least 60 models whose price is the list's own row."""
    found = []
    for provider, model in _models():
        for _ in range(5):
            at = FIRST + timedelta(seconds=DRAW.randint(0, int((LAST - FIRST).total_seconds())))
            price = pricer.book.price(provider.id, model.id, at, PriceContext())
            if isinstance(price, Price) and price.row.source.startswith("genai-prices") and not price.multipliers:
                found.append((provider, model, at, _usage(), price))
    return found


def test_there_are_enough_of_them(cases):
    assert len(cases) >= 200
    assert len({(provider.id, model.id) for provider, model, *_ in cases}) >= 60


def test_each_cost_is_that_of_five_products_written_out(cases):
    for provider, model, at, usage, price in cases:
        cost = cost_of(usage, price)
        assert cost.usd == _plainly(model.get_prices(at), usage), (provider.id, model.id, at, usage)


def test_each_cost_is_the_price_lists_own(cases):
    for provider, model, at, usage, price in cases:
        theirs = model.calc_price(
            ListUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                cache_write_1h_tokens=usage.cache_write_1h_tokens,
            ),
            provider,
            genai_request_timestamp=at,
        )
        assert cost_of(usage, price).usd == theirs.total_price, (provider.id, model.id, at, usage)


def test_a_model_that_the_list_prices_at_nothing_is_not_priced_here(pricer):
    """Its own computation answers 0 for these."""
    at = datetime(2026, 11, 29, tzinfo=UTC)
    zero = 0
    for provider in bundled_list().providers:
        for model in provider.models:
            if any(value for value in model.get_prices(at).__dict__.values()):
                continue
            zero += 1
            price = pricer.book.price(provider.id, model.id, at, PriceContext())
            assert not isinstance(price, Price) or price.row.source != bundled_list().source
            assert cost_of(Usage(input_tokens=1000), price).status in ("free", "unknown", "priced")
            if cost_of(Usage(input_tokens=1000), price).status == "priced":
                assert cost_of(Usage(input_tokens=1000), price).usd
    assert zero > 100
