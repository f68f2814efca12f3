"""The prices that ship: the price list of the package, our patches over it, and the names by which both are found.

Expected prices are the price list's own answers (``ModelInfo.get_prices`` of genai-prices 0.2.3), or those of the
source that a patch names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pytest
from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

from service.configfile import load_catalog, read_config, shipped_prices
from service.domain.catalog import Catalog
from service.domain.costing import cost_of
from service.domain.errors import InvalidConfig, UnknownModel
from service.domain.pricenames import price_names
from service.domain.prices import Free, Price, PriceBook, PriceContext, Rate, Unknown
from service.domain.usage import Usage
from service.pricebook import PriceList, bundled_list, price_book, priced_catalog
from service.pricebook.genai import rows_of
from service.pricebook.names import names_of

Found: TypeAlias = Price | Free | Unknown
Ask: TypeAlias = Callable[..., Found]

TODAY = datetime(2026, 11, 29, 12, tzinfo=UTC)
DATES = (datetime(2025, 1, 15, 12, tzinfo=UTC), TODAY, datetime(2027, 1, 2, 12, tzinfo=UTC))
INSTANT = timedelta(microseconds=1)
VARIANTS = {
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
}


@pytest.fixture(scope="module")
def prices() -> PriceList:
    return bundled_list()


@pytest.fixture(scope="module")
def base() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="module")
def catalog(base: Catalog, prices: PriceList) -> Catalog:
    return priced_catalog(base, prices)


@pytest.fixture(scope="module")
def book(catalog: Catalog, prices: PriceList) -> PriceBook:
    return price_book(prices, catalog)


@pytest.fixture(scope="module")
def ask(catalog: Catalog, book: PriceBook) -> Ask:
    """The price of a model by any of its names, as the service looks it up."""

    def price(name: str, at: datetime = TODAY, tier: str = "standard", region: str | None = None) -> Found:
        found = catalog.find(name)
        kept = book.find(found.provider, price_names(found, catalog.hosts.get(found.provider)))
        context = PriceContext(tier, region)
        return Unknown("model", "") if kept is None else book.price(found.provider, kept, at, context)

    return price


def said(found: Found) -> tuple[str, ...] | str:
    """Input, cache read and output rate of a price as they are written, or why there is none."""
    if isinstance(found, Price):
        keys = ("input_mtok", "cache_read_mtok", "output_mtok")
        return tuple(f"{found.row.rates[key].base.normalize():f}" for key in keys if key in found.row.rates)
    return "free" if isinstance(found, Free) else found.missing


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def models(prices: PriceList) -> Iterator[tuple[Provider, ModelInfo]]:
    yield from ((provider, model) for provider in prices.providers for model in provider.models)


def flat(price: ModelPrice) -> dict[str, object]:
    """The rates of the price list, read here anew: a threshold of 199999 means "from 200000 on"."""
    rates: dict[str, object] = {}
    for key, value in vars(price).items():
        if isinstance(value, TieredPrices):
            steps = [(t.start + (t.start % 1000 == 999), t.price, t.start % 1000 == 999) for t in value.tiers]
            rates[key] = (value.base, steps)
        elif value is not None:
            rates[key] = (value, [])
    return rates


def shape(rates: Mapping[str, Rate]) -> dict[str, object]:
    return {key: (rate.base, [(t.above_input, t.rate, t.inclusive) for t in rate.tiers]) for key, rate in rates.items()}


# The price list as it is.


def test_the_list_is_the_one_that_was_reviewed_and_nothing_of_it_is_out_of_bounds(prices: PriceList) -> None:
    assert (prices.source, prices.checked) == ("genai-prices 0.2.3", "2026-11-10")
    assert len(prices.revision) == 12
    left_out: Counter[str] = Counter()
    rows = rows_of(prices.providers, source="", revision="", checked="", left_out=left_out)
    assert left_out == {"unknown_variant": 4}  # two of a route, two of a kind of search
    assert len({(row.provider, row.model) for row in rows}) == sum(len(p.models) for p in prices.providers)


def test_every_standard_price_is_what_the_list_itself_says_on_three_dates(prices: PriceList) -> None:
    rows = rows_of(prices.providers, source="", revision="", checked="")
    listed = PriceBook([rows])
    compared = 0
    for provider, model in models(prices):
        for at in DATES:
            found = listed.price(provider.id, model.id.lower(), at, PriceContext())
            expected = flat(model.get_prices(at))
            if not expected:
                assert isinstance(found, Unknown), model.id
                continue
            assert isinstance(found, Price), model.id
            assert shape(found.row.rates) == expected, (provider.id, model.id, at)
            compared += 1
    assert compared > 6400


def test_every_price_of_a_service_tier_is_its_variants_own_and_fees_are_the_standard_ones(prices: PriceList) -> None:
    listed = PriceBook([rows_of(prices.providers, source="", revision="", checked="")])
    compared = 0
    for provider, model in models(prices):
        for at in DATES[1:]:
            for tier, context in VARIANTS.items():
                found = listed.price(provider.id, model.id.lower(), at, PriceContext(tier))
                if not isinstance(found, Price):
                    continue
                expected = flat(model.get_prices(at, context))
                own = {key for v in model.price_variants or () if v.when == context for key in vars(v.prices)}
                fees = {key for key in expected if key.endswith("searches_kcount")}
                assert shape(found.row.rates) == {key: expected[key] for key in expected if key in own | fees}
                compared += 1
    assert compared > 300


def test_no_model_at_any_date_in_any_tier_costs_nothing_unless_a_source_says_so(book: PriceBook) -> None:
    usage = Usage(input_tokens=1000, output_tokens=1000)
    sources = set()
    for (provider, model), rows in book.models.items():
        for _, row in rows:
            found = book.price(provider, model, row.start or TODAY, PriceContext(row.service_tier))
            cost = cost_of(usage, found)
            if isinstance(found, Free):
                sources.add(found.row.source)
                assert found.row.checked
            else:
                assert cost.usd is None or cost.usd > 0, (provider, model)
    assert len(sources) == 3
    assert all(source.startswith("https://") for source in sources)


def test_a_model_whose_rows_are_empty_is_unknown_and_never_free(prices: PriceList) -> None:
    listed = PriceBook([rows_of(prices.providers, source="", revision="", checked="")])
    empty = [(p.id, m.id) for p, m in models(prices) if isinstance(m.prices, ModelPrice) and not flat(m.prices)]
    assert len(empty) > 150
    for provider, model in empty:
        assert said(listed.price(provider, model.lower(), TODAY, PriceContext())) == "rates"


# Names.


def test_every_model_of_the_list_resolves_and_finds_its_own_price(
    catalog: Catalog, book: PriceBook, prices: PriceList
) -> None:
    for provider, model in models(prices):
        hosts = [host for host in catalog.hosts.values() if provider.id in (host.id, host.price_provider)]
        assert hosts, provider.id
        found = [catalog.known(model.id, host.id) for host in hosts]
        resolutions = [item for item in found if item is not None]
        assert resolutions, (provider.id, model.id)
        for resolution in resolutions:
            kept = book.find(resolution.provider, price_names(resolution, catalog.hosts[resolution.provider]))
            assert kept is not None, (provider.id, model.id)
            rows = book.rows(resolution.provider, kept)
            assert model.id.lower() in {row.model for row in rows}, (provider.id, model.id)


def test_every_model_of_the_list_resolves_with_its_sellers_prefix(catalog: Catalog, prices: PriceList) -> None:
    for provider, model in models(prices):
        hosts = [host for host in catalog.hosts.values() if provider.id in (host.id, host.price_provider)]
        found = {
            catalog.find(f"{host.prefixes[0]}{model.id}").provider for host in hosts if _sold(catalog, host.id, model)
        }
        assert found <= {host.id for host in hosts}, (provider.id, model.id)
        assert found


def _sold(catalog: Catalog, host: str, model: ModelInfo) -> bool:
    return catalog.known(model.id, host) is not None


def test_models_with_a_tokenizer_keep_it_and_no_bare_name_leaves_its_vendor(base: Catalog, catalog: Catalog) -> None:
    for model in base.models:
        for name in (model.id, *model.aliases):
            assert catalog.find(name).model is model, name
            assert catalog.find(name, model.provider).model is model, name
    sellers = {host.id for host in catalog.hosts.values() if host.vendors}
    for model in catalog.priced:
        if model.provider in sellers:
            bare = catalog.known(model.id)
            assert bare is None or bare.model is not model or "/" in model.id or "." in model.id, model.id


def test_our_names_never_disagree_with_the_lists_own_matching(catalog: Catalog, prices: PriceList) -> None:
    names = names_of(prices.providers, catalog.hosts.values())
    by_id = {provider.id: provider for provider in prices.providers}
    for (provider, name), model in names.exact.items():
        found = by_id[provider].find_model(name)
        assert name == model or found is None or found.id.lower() == model, (provider, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("models/gemini-2.5-pro", ("1.25", "0.125", "10")),
        ("publishers/google/models/gemini-2.5-pro", ("1.25", "0.125", "10")),
        ("GPT-4o", ("2.5", "1.25", "10")),
        ("claude-opus-4.1", ("15", "1.5", "75")),
        ("gpt-5.6-luna-2026-07-09", ("0.2", "0.02", "1.2")),
        ("bedrock/us.anthropic.claude-opus-4-7-v1:0", ("5.5", "0.55", "27.5")),
        ("bedrock/anthropic.claude-opus-4-7-v1:0", ("5.5", "0.55", "27.5")),
        ("eu.anthropic.claude-opus-4-7", ("5.5", "0.55", "27.5")),
        ("bedrock/claude-opus-4-7", ("5.5", "0.55", "27.5")),
        ("global.anthropic.claude-opus-4-7-v1:0", ("5", "0.5", "25")),
        ("bedrock/us-east-1/amazon.nova-lite-v1:0", ("0.06", "0.015", "0.24")),
        ("nova-lite", ("0.06", "0.015", "0.24")),
        ("bedrock/eu.amazon.nova-lite-v1:0", "model"),
        ("vertex_ai/claude-haiku-4-5@20251001", ("1", "0.1", "5")),
        ("vertex_ai/mistral-large@2407", ("2", "6")),
        ("azure/gpt-4o", ("2.5", "1.25", "10")),
        ("azure/gpt-4o-2024-08-06", ("2.5", "1.25", "10")),
        ("azure/us/gpt-4o", "model"),
        ("azure/gpt-35-turbo", ("0.5", "1.5")),
        ("openrouter/anthropic/claude-sonnet-4.5", ("3", "0.3", "15")),
        ("openrouter/deepseek/deepseek-r1:free", "free"),
        ("openrouter/deepseek/deepseek-r1:nitro", "model"),
        ("accounts/fireworks/models/deepseek-v4-pro", ("1.74", "0.145", "3.48")),
        ("groq/llama-3.3-70b-versatile", ("0.59", "0.79")),
        ("gemini-2.5-pro-preview-tts", ("1", "20")),
        ("perplexity/sonar", ("1", "1")),
    ],
)
def test_a_name_finds_the_price_of_its_own_seller_or_none(ask: Ask, name: str, expected: object) -> None:
    assert said(ask(name)) == expected


@pytest.mark.parametrize(
    "name", ["azure/wrapper-api-gpt-4o", "agent_8k_gpt-4", "gpt-4o-mini-of-ours", "claude-opus-4-19", "xgpt-4o", ""]
)
def test_a_name_that_only_looks_like_another_is_unknown(ask: Ask, name: str) -> None:
    with pytest.raises(UnknownModel):
        ask(name)


@pytest.mark.parametrize(
    ("name", "tier", "expected"),
    [
        ("ft:gpt-4.1-2025-04-14:acme::1", "standard", ("3", "0.75", "12")),
        ("ft:gpt-4.1-mini-2025-04-14:acme:x:1", "standard", ("0.8", "0.2", "3.2")),
        ("ft:gpt-4.1:acme::1", "batch", ("1.5", "0.5", "6")),
        ("ft:gpt-4o-2024-08-06:acme::1", "standard", ("3.75", "1.875", "15")),
        ("ft:gpt-4o-mini:acme::1", "standard", ("0.3", "1.2")),
        ("ft:gpt-3.5-turbo-0125:acme::1", "standard", ("3", "6")),
        ("ft:gpt-5:acme::1", "standard", "model"),
        ("ft:gpt-4o-2024-08-06:acme::1", "flex", "service_tier"),
    ],
)
def test_a_fine_tuned_model_never_has_the_price_of_its_base(ask: Ask, name: str, tier: str, expected: object) -> None:
    assert said(ask(name, tier=tier)) == expected


def test_a_past_name_keeps_its_own_price_when_the_name_moves_on(ask: Ask) -> None:
    assert said(ask("mistral-large-2411")) == ("2", "6")
    assert said(ask("mistral-large-latest")) == ("0.5", "0.05", "1.5")
    assert said(ask("mistral-large-latest", moment("2025-12-02") - INSTANT)) == ("2", "6")
    assert said(ask("mistral-large-latest", moment("2025-12-02"))) == ("0.5", "0.05", "1.5")
    assert said(ask("gpt-4o-2024-05-13")) == ("5", "15")
    assert said(ask("gpt-3.5-turbo-1106")) == ("1", "2")


# Dates, hours and tiers, each with the instants on both sides.


def test_a_batch_is_unknown_before_its_price_began_and_never_the_standard_one(ask: Ask) -> None:
    start = moment("2026-10-14")
    assert said(ask("gpt-4.1", start - INSTANT, "batch")) == "date"
    assert said(ask("gpt-4.1", start, "batch")) == ("1", "4")
    assert said(ask("gpt-4.1", start - INSTANT)) == ("2", "0.5", "8")
    assert said(ask("gpt-6-sol", moment("2026-10-12") - INSTANT, "flex")) == "date"
    assert said(ask("gpt-6-sol", moment("2026-10-12"), "flex")) == ("1", "0.1", "5")
    assert said(ask("gpt-4-turbo", tier="flex")) == "service_tier"


def test_a_price_that_is_announced_begins_on_its_day(ask: Ask) -> None:
    start = moment("2026-12-01")
    assert said(ask("gemini-4-argon", start - INSTANT)) == ("2", "0.1", "10")
    assert said(ask("gemini-4-argon", start)) == ("4", "0.2", "20")
    assert said(ask("gemini-4-argon", start - INSTANT, "batch")) == ("1", "0.05", "5")
    assert said(ask("gemini-4-argon", start, "batch")) == ("2", "0.1", "10")
    assert said(ask("o3", moment("2025-06-10") - INSTANT)) == ("10", "0.5", "40")
    assert said(ask("o3", moment("2025-06-10"))) == ("2", "0.5", "8")


@pytest.mark.parametrize(
    ("name", "last", "cheap", "dear"),
    [
        ("gemini-2.5-pro", 200_000, "1.25", "2.5"),
        ("gpt-6-sol", 272_000, "2", "4"),
        ("grok-4.7", 199_999, "2", "4"),
        ("claude-haiku-5-5", 100_000, "0.1", "0.5"),
        ("qwen3-max", 32_000, "1.2", "2.4"),
        ("qwen3-max", 128_000, "2.4", "3"),
    ],
)
def test_long_input_is_dearer_from_the_vendors_own_threshold_on(
    ask: Ask, name: str, last: int, cheap: str, dear: str
) -> None:
    found = ask(name)
    assert isinstance(found, Price)
    rate = found.row.rates["input_mtok"]
    assert (rate.at(last)[0], rate.at(last + 1)[0]) == (Decimal(cheap), Decimal(dear))


def test_sonnet_4_5_has_no_price_for_long_input_any_more(ask: Ask) -> None:
    end = moment("2026-04-30")
    for at, expected in ((end - INSTANT, "6"), (end, "3"), (TODAY, "3")):
        found = ask("claude-sonnet-4-5", at)
        assert isinstance(found, Price)
        assert found.row.rates["input_mtok"].at(250_000)[0] == Decimal(expected)
    batch = ask("claude-sonnet-4-5-20250929", tier="batch")
    assert isinstance(batch, Price)
    assert batch.row.rates["input_mtok"].at(250_000)[0] == Decimal("1.5")


FLASH = {"old": ("0.14", "0.0028", "0.28"), "low": ("0.22", "0.007", "0.66"), "peak": ("0.44", "0.014", "1.32")}
FLASH |= {"new low": ("0.15", "0.003", "0.6"), "new peak": ("0.3", "0.006", "1.2")}
PRO = {"old": ("0.435", "0.003625", "0.87"), "low": ("0.66", "0.022", "1.98"), "peak": ("1.32", "0.044", "3.96")}


@pytest.mark.parametrize(
    ("at", "flash", "pro"),
    [
        ("2026-05-01T02:00", "old", "old"),  # a peak hour before there were any
        ("2026-08-16T15:59:59", "old", "old"),
        ("2026-08-16T16:00", "low", "low"),
        ("2026-08-17T02:00", "peak", "peak"),
        ("2026-08-22T02:00", "peak", "peak"),  # the last Saturday with a peak
        ("2026-08-23T02:00", "low", "low"),  # Sunday
        ("2026-08-24T00:59:59", "low", "low"),
        ("2026-08-24T01:00", "peak", "peak"),
        ("2026-08-24T03:59:59", "peak", "peak"),
        ("2026-08-24T04:00", "low", "low"),
        ("2026-08-24T06:00", "peak", "peak"),
        ("2026-08-24T10:00", "low", "low"),
        ("2026-09-10T03:59:59", "peak", "peak"),
        ("2026-09-10T04:00", "new low", "low"),
        ("2026-09-14T08:00", "new peak", "peak"),  # the day on which Pro was to have Flash's price
        ("2026-09-25T02:00", "new low", "low"),  # Mid-Autumn, a Friday
        ("2026-09-28T02:00", "new peak", "peak"),
        ("2026-10-01T02:00", "new low", "low"),  # National Day, to the 7th
        ("2026-10-07T09:00", "new low", "low"),
        ("2026-10-08T01:00", "new peak", "peak"),
        ("2026-11-28T02:00", "new low", "low"),  # Saturday
        ("2026-11-30T02:00", "new peak", "peak"),  # Monday
        ("2027-01-01T02:00", "new low", "low"),  # New Year, a Friday
        ("2027-01-04T02:00", "new peak", "peak"),
    ],
)
def test_peak_hours_hold_on_their_days_and_not_before_they_began(ask: Ask, at: str, flash: str, pro: str) -> None:
    assert said(ask("deepseek-v4-flash", moment(at))) == FLASH[flash]
    assert said(ask("deepseek-v4-pro", moment(at))) == PRO[pro]


def test_a_peak_hour_before_the_peak_prices_costs_what_it_cost_then(ask: Ask) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    cost = cost_of(usage, ask("deepseek-v4-flash", moment("2026-05-01T02:00")))
    assert cost.usd == Decimal("0.42")


@pytest.mark.parametrize("name", ["deepseek-chat", "deepseek-reasoner"])
def test_the_old_names_cost_what_stood_behind_them_until_they_ended(ask: Ask, name: str) -> None:
    cases = {
        "2025-09-05T16:00": ("0.56", "0.07", "1.68"),
        "2025-09-29T00:00": ("0.28", "0.028", "0.42"),
        "2026-04-24T00:00": ("0.14", "0.0028", "0.28"),
        "2026-07-24T15:59": "rates",
        "2026-11-29T00:00": "rates",
        "2025-02-26T16:29": "rates",
    }
    assert {at: said(ask(name, moment(at))) for at in cases} == cases
    assert said(ask(name, moment("2026-07-24T15:59") - INSTANT)) == ("0.14", "0.0028", "0.28")


# Regions, fees and what usage cannot say.


@pytest.mark.parametrize(
    ("name", "region", "expected"),
    [
        ("claude-opus-4-7", "us", ["1.1"]),
        ("claude-sonnet-5", "us", ["1.1"]),
        ("claude-opus-4-7", "global", ["1"]),
        ("claude-opus-4-7", "eu", "region"),
        ("claude-opus-4-5", "us", "region"),
        ("claude-haiku-4-5", "us", "region"),
        ("gpt-5.4", "eu", ["1.1"]),
        ("gpt-6.1-terra", "us", ["1.1"]),
        ("gpt-4.1", "eu", "region"),
        ("azure/gpt-5.4", "eu", "region"),
        ("vertex_ai/claude-opus-4-7", "us", "region"),
        ("openrouter/anthropic/claude-opus-4.7", "us", "region"),
    ],
)
def test_a_region_has_the_surcharge_of_the_vendor_itself_or_no_price(
    ask: Ask, name: str, region: str, expected: object
) -> None:
    found = ask(name, region=region)
    assert ([str(m.factor) for m in found.multipliers] if isinstance(found, Price) else said(found)) == expected
    assert isinstance(ask(name), Price)


def test_a_batch_has_no_price_of_its_own_for_a_search_and_pays_the_standard_fee(ask: Ask) -> None:
    usage = Usage(1_000_000, 0, other={"web_searches": Decimal(100)})
    assert cost_of(usage, ask("claude-opus-4-7", tier="batch")).usd == Decimal("3.5")
    assert cost_of(usage, ask("claude-opus-4-7")).usd == Decimal(6)


def test_a_cache_read_that_a_batch_price_lacks_costs_the_batchs_own_input_with_a_warning(ask: Ask) -> None:
    cost = cost_of(Usage(1_000_000, 0, cache_read_tokens=1_000_000), ask("gpt-4.1", tier="batch"))
    assert (cost.usd, [notice.code for notice in cost.notices]) == (Decimal(1), ["rate_fallback"])


def test_audio_that_has_no_rate_makes_the_cost_unknown_and_names_it(ask: Ask) -> None:
    cost = cost_of(Usage(1000, 0, input_audio_tokens=100), ask("gpt-4o"))
    assert (cost.usd, cost.missing) == (None, "input_audio")


def test_a_video_costs_by_the_second_and_a_picture_of_unknown_size_has_no_price(ask: Ask) -> None:
    assert cost_of(Usage(other={"output_video_seconds": Decimal(8)}), ask("sora-2")).usd == Decimal("0.8")
    assert [said(ask(name)) for name in ("sora-2-pro", "dall-e-3", "dall-e-2")] == ["rates"] * 3


# The patches themselves.


def test_every_patch_names_its_source_its_day_and_a_model_that_resolves(catalog: Catalog) -> None:
    for file in shipped_prices():
        for row in file.rows:
            assert row.source, row.model
            assert datetime(2026, 11, 1, tzinfo=UTC) <= moment(row.checked) <= TODAY
            assert len(row.revision) == 12
            if "*" not in row.model:
                hosts = [h.id for h in catalog.hosts.values() if row.provider in (h.id, h.price_provider)]
                assert any(catalog.known(row.model, host) for host in hosts), row.model


def test_every_model_of_a_multiplier_has_a_price_of_that_name(book: PriceBook) -> None:
    for file in shipped_prices():
        for multiplier in file.multipliers:
            assert multiplier.source
            assert multiplier.models
            for model in multiplier.models:
                assert book.rows(multiplier.provider, model), model


# Open weights that their maker does not sell by the token, and models whose price no source has.
UNSOLD = {"baai", "sentence-transformers", "thenlper", "intfloat", "meta"}
OPEN_FAMILIES = ("qwen", "qwq", "gemma")
WITHOUT_A_PRICE = {
    "openai": {
        *("code-cushman-001", "code-cushman-002", "code-davinci-001", "code-davinci-002", "code-davinci-edit-001"),
        *("gpt2", "text-davinci-edit-001"),
    },
    "anthropic": {"claude-instant-1.2"},
    "cohere": {
        *("command-a-plus", "command-a-reasoning", "command-a-translate", "command-a-vision"),
        "embed-multilingual-light-v3.0",
    },
    "deepseek": {"deepseek-chat", "deepseek-reasoner"},
    "mistral": {
        *("codestral-2405", "ministral-3b-2410", "mistral-7b-instruct-v0.1", "mistral-7b-instruct-v0.2"),
        *("mistral-large-2402", "mistral-small-2402", "mistral-small-2409", "voxtral-mini-2507"),
    },
    "zai": {"glm-5-turbo"},
}


def test_every_model_of_the_catalog_has_a_price_today_but_for_those_that_nobody_lists(base: Catalog, ask: Ask) -> None:
    missing: dict[str, set[str]] = {}
    for model in base.models:
        if model.provider not in UNSOLD and isinstance(ask(model.id), Unknown):
            missing.setdefault(model.provider, set()).add(model.id)
    open_weights = {name for name in missing.pop("alibaba") | missing.pop("google") if name.startswith(OPEN_FAMILIES)}
    assert len(open_weights) == 63
    assert missing == WITHOUT_A_PRICE


def test_every_model_of_the_price_list_is_found_under_the_lists_own_provider_and_id(
    prices: PriceList, catalog: Catalog
) -> None:
    names = [f"{provider.id}/{model.id}" for provider in prices.providers for model in provider.models]
    assert len(names) > 2000
    assert [name for name in names if catalog.known(name) is None] == []


def test_only_free_ids_of_the_price_list_are_free(catalog: Catalog, book: PriceBook) -> None:
    found = catalog.find("openrouter/openai/gpt-5:free")
    assert book.find("openrouter", price_names(found, catalog.hosts["openrouter"])) is None
    found = catalog.find("openrouter/openai/gpt-oss-20b:free")
    name = book.find("openrouter", price_names(found, catalog.hosts["openrouter"]))
    assert name is not None
    assert isinstance(book.price("openrouter", name, TODAY, PriceContext()), Free)


def test_every_patch_is_written_under_a_provider_of_the_catalog(catalog: Catalog) -> None:
    files = shipped_prices()
    named = {row.provider for file in files for row in file.rows}
    named |= {multiplier.provider for file in files for multiplier in file.multipliers}
    assert named <= set(catalog.hosts)


# LiteLLM 1.110.2; mistral-medium-3 (2505), gpt-3.5-turbo-0125 and the undated names: genai-prices 0.2.3.
@pytest.mark.parametrize(
    ("name", "tier", "expected"),
    [
        ("gpt-3.5-turbo-0125", "standard", "0.5/1.5"),
        ("gpt-3.5-turbo-0125", "batch", "0.25/0.75"),
        ("gpt-3.5", "standard", "0.5/1.5"),
        ("gpt-3.5-turbo-1106", "standard", "1/2"),
        ("minimax/MiniMax-M2.1-lightning", "standard", "0.3/2.4"),
        ("minimax/MiniMax-M2.5-lightning", "standard", "0.3/2.4"),
        ("minimax/MiniMax-M2.5-highspeed", "standard", "0.6/2.4"),
        ("azure/DeepSeek-V4-Flash-0731", "standard", "0.44/1.32"),
        ("azure/deepseek-v4-flash", "standard", "0.19/0.51"),
        ("fireworks_ai/deepseek-v4-pro-0813", "standard", "1.32/3.96"),
        ("fireworks_ai/deepseek-v4-pro", "standard", "1.74/3.48"),
        ("mistral-medium", "standard", "1.5/7.5"),
        ("mistral-medium-3", "standard", "0.4/2"),
        ("amazon.nova-2-pro-preview-20251202-v1:0", "standard", "1.25/10"),
        ("amazon/nova-2-pro-preview", "standard", "1.25/10"),
        ("us.amazon.nova-2-pro-preview-20251202-v1:0", "standard", "1.375/11"),
        ("us.amazon.nova-2-pro-preview-20251202-v1:0", "batch", "0.6875/5.5"),
    ],
)
def test_a_name_that_costs_something_else_than_its_model_has_its_own_price(
    catalog: Catalog, book: PriceBook, name: str, tier: str, expected: str
) -> None:
    resolved = catalog.find(name)
    kept = book.find(resolved.provider, price_names(resolved, catalog.hosts.get(resolved.provider)))
    assert kept is not None
    found = book.price(resolved.provider, kept, TODAY, PriceContext(tier))
    assert isinstance(found, Price)
    assert "/".join(str(found.row.rates[key].base) for key in ("input_mtok", "output_mtok")) == expected


def test_a_users_price_for_one_model_is_never_that_of_its_siblings_or_of_another_seller(
    prices: PriceList, catalog: Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "weighbridge.toml"
    rows = (("openai", "gpt-3.5-turbo-1106"), ("google", "claude-sonnet-4-5"), ("google", "gemini-2.5-pro"))
    path.write_text("".join(f'[[price]]\nprovider = "{p}"\nmodel = "{m}"\ninput_mtok = "77"\n' for p, m in rows))
    book = price_book(prices, catalog, read_config(path, {}))
    for name in ("gpt-3.5-turbo-0125", "gpt-3.5", "vertex_ai/claude-sonnet-4-5", "vertex_ai/gemini-2.5-pro"):
        resolved = catalog.find(name)
        kept = book.find(resolved.provider, price_names(resolved, catalog.hosts.get(resolved.provider)))
        assert kept is not None
        found = book.price(resolved.provider, kept, TODAY, PriceContext())
        assert isinstance(found, Price)
        assert found.row.rates["input_mtok"].base != Decimal(77)


def test_a_multiplier_on_a_model_that_nobody_knows_is_refused_with_its_line(
    prices: PriceList, catalog: Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "weighbridge.toml"
    text = '[[multiplier]]\nprovider = "openai"\nmatch = {region = "us"}\nfactor = "2"\nmodels = ["gpt-4o", "NAME"]\n'
    for known in ("gpt-5-mini", "gpt-3.5-0301"):
        path.write_text(text.replace("NAME", known))
        price_book(prices, catalog, read_config(path, {}))
    path.write_text(text)
    with pytest.raises(InvalidConfig) as caught:
        price_book(prices, catalog, read_config(path, {}))
    assert caught.value.line == 5
    price_book(replace(prices, bundled=False), catalog, read_config(path, {}))
