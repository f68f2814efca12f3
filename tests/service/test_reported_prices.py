"""Reported faults of model and price resolution, over the shipped catalog; money comes from prices given here."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from service.configfile import load_catalog
from service.domain.costing import cost_of
from service.domain.errors import UnknownModel
from service.domain.money import canonical
from service.domain.prices import PriceBook, PriceContext, PriceRow, Rate
from service.domain.pricing import Pricer
from service.domain.usage import Usage

NOW = datetime(2026, 11, 29, tzinfo=UTC)
CATALOG = load_catalog()


def row(provider: str, model: str, tokens_in: str, tokens_out: str, tier: str = "standard") -> PriceRow:
    rates = {"input_mtok": Rate(Decimal(tokens_in)), "output_mtok": Rate(Decimal(tokens_out))}
    return PriceRow(provider, model, rates, service_tier=tier, source="test", checked="2026-11-29")


BOOK = PriceBook(
    [
        [
            row("openai", "gpt-4o", "2.5", "10"),
            row("openai", "gpt-4o-mini", "0.15", "0.6"),
            row("openai", "gpt-4o-mini", "0.25", "1", "priority"),
            row("openai", "gpt-4o", "4.25", "17", "priority"),
            row("openai", "gpt-4.1", "3.5", "14", "priority"),
            row("openai", "gpt-4.1-mini", "0.7", "2.8", "priority"),
            row("openai", "gpt-4", "30", "60"),
            row("openai", "gpt-5.6-luna", "1", "6"),
            row("anthropic", "claude-opus-4-1", "15", "75"),
            row("azure", "gpt-4o", "2.75", "11"),
        ]
    ]
)
PRICER = Pricer(CATALOG, BOOK)


def cost(model: str, tokens_in: int, tokens_out: int, tier: str = "standard") -> str | None:
    price = PRICER.price(CATALOG.find(model), NOW, PriceContext(tier))
    usd = cost_of(Usage(input_tokens=tokens_in, output_tokens=tokens_out), price).usd
    return None if usd is None else canonical(usd)


def test_a01_a_longer_name_is_not_priced_as_a_shorter_one():
    assert cost("gpt-4o-mini", 1000, 1000) == "0.00075"


@pytest.mark.parametrize("name", ["agent-8k", "agent_gpt-4-8k_x", "my-gpt-4o", "gpt-4o-", "gpt-4o-miniature"])
def test_a02_a_name_that_contains_a_known_one_is_unknown(name):
    with pytest.raises(UnknownModel):
        CATALOG.find(name)


def test_a05_a_model_that_the_seller_has_no_price_for_is_unknown_not_free():
    assert cost("azure/gpt-4o-mini", 1000, 1000) is None


def test_another_sellers_price_is_never_taken():
    assert cost("azure/gpt-4o", 1_000_000, 0) == "2.75"
    assert cost("openai/gpt-4o", 1_000_000, 0) == "2.5"
    assert cost("openrouter/openai/gpt-4o", 1_000_000, 0) is None


def test_a06_a_dated_name_in_an_answer_finds_its_model_and_says_by_what_rule():
    found = CATALOG.find("gpt-5.6-luna-2026-07-09")
    assert (found.model.id, found.rule) == ("gpt-5.6-luna", "dated_suffix")
    assert cost("gpt-5.6-luna-2026-07-09", 1_000_000, 0) == "1"


def test_a11_a_dotted_name_meters_what_the_model_costs():
    assert cost("claude-opus-4.1", 1000, 568) == "0.0576"


@pytest.mark.parametrize(
    ("model", "tokens_out", "expected"),
    [
        ("gpt-4o-mini-2024-07-18", 2, "0.00000425"),
        ("gpt-4o-2024-08-06", 1, "0.00005525"),
        ("gpt-4.1-2025-04-14", 1, "0.0000455"),
        ("gpt-4.1-mini-2025-04-14", 1, "0.0000091"),
    ],
)
def test_b02_a_dated_name_has_its_models_priority_rates(model, tokens_out, expected):
    assert cost(model, 9, tokens_out, "priority") == expected


def test_b04_every_output_token_of_a_priority_call_is_at_its_rate():
    price = PRICER.price(CATALOG.find("gpt-4.1"), NOW, PriceContext("priority"))
    usd = cost_of(Usage(output_tokens=160, reasoning_tokens=159), price).usd
    assert usd == Decimal("160") * 14 / 1_000_000
