"""A list that came over the network: what is read, and every way in which it is refused."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.types import TieredPrices

from service.pricebook.reading import TableRefused, read_providers
from tests.service.pricebook.price_server import core_list, core_providers


def one(**model: Any) -> bytes:
    """A list of one provider with one model."""
    return json.dumps([provider(models=[plain() | model])]).encode()


def provider(**fields: Any) -> dict[str, Any]:
    return {"id": "openai", "name": "OpenAI", "api_pattern": "api", "models": [plain()]} | fields


def plain(**fields: Any) -> dict[str, Any]:
    return {"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": 1}} | fields


def refusal(body: bytes) -> str:
    with pytest.raises(TableRefused) as caught:
        read_providers(body)
    return caught.value.reason


def test_the_packages_own_list_comes_back_as_it_is_but_for_extractors() -> None:
    assert read_providers(core_list()) == [dataclasses.replace(p, extractors=None) for p in core_providers()]


def test_a_price_is_the_decimal_that_stands_in_the_text() -> None:
    body = one(prices={"input_mtok": 0.1, "output_mtok": {"base": 2.50, "tiers": [{"start": 5, "price": 3}]}})
    prices: Any = read_providers(body.replace(b"0.1", b"0.10000000000000000055"))[0].models[0].prices
    assert prices.input_mtok == Decimal("0.10000000000000000055")
    assert isinstance(prices.output_mtok, TieredPrices)
    assert (prices.output_mtok.base, prices.output_mtok.tiers[0].price) == (Decimal("2.5"), Decimal(3))


@pytest.mark.parametrize("body", [b"", b"[", b"\xff\xfe[]", b"[]]", b"[1" + b"0" * 5000 + b"]", b"[" * 100_000])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    assert refusal(body) == "not_json"


@pytest.mark.parametrize("body", [b"{}", b"null", b'"list"', b"1"])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    assert refusal(body) == "not_a_list"


def test_an_empty_list_is_refused() -> None:
    assert refusal(b"[]") == "empty"


@pytest.mark.parametrize(
    "price",
    [
        "-1",
        "-0.000001",
        "NaN",
        "Infinity",
        "-Infinity",
        '"1"',
        "true",
        "null",
        "[]",
        "1e-31",
        "0." + "1" * 31,
        "12." + "1" * 29,
    ],
)
def test_a_price_that_is_none_is_refused(price: str) -> None:
    assert refusal(one(prices={"input_mtok": 77}).replace(b"77", price.encode())) == "price_invalid"


@pytest.mark.parametrize("price", ["1000.01", "1e400", "1e999999"])
@pytest.mark.parametrize("key", ["input_mtok", "output_mtok", "input_mchars", "some_new_mtok"])
def test_a_price_above_a_thousand_dollars_per_million_is_refused(key: str, price: str) -> None:
    assert refusal(one(prices={key: 77}).replace(b"77", price.encode())) == "price_too_high"


def test_exactly_a_thousand_dollars_per_million_is_read() -> None:
    prices: Any = read_providers(one(prices={"input_mtok": 1000, "output_mtok": 0}))[0].models[0].prices
    assert (prices.input_mtok, prices.output_mtok) == (1000, 0)


@pytest.mark.parametrize(("price", "passes"), [(100_000, True), (100_001, False)])
def test_other_units_have_a_bound_of_their_own(price: int, passes: bool) -> None:
    body = one(prices={"requests_kcount": price})
    if passes:
        assert read_providers(body)
    else:
        assert refusal(body) == "price_too_high"


@pytest.mark.parametrize(
    "where",
    [
        {"prices": {"input_mtok": {"base": -1, "tiers": []}}},
        {"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 1, "price": -1}]}}},
        {"prices": [{"prices": {"input_mtok": -1}}]},
        {"price_variants": [{"when": {"processing": "batch"}, "prices": {"input_mtok": -1}}]},
    ],
)
def test_a_negative_price_is_found_wherever_it_stands(where: dict[str, Any]) -> None:
    assert refusal(one(**where)) == "price_invalid"


START = {"start_date": "2026-01-01"}
PRICES = {"input_mtok": 1}


@pytest.mark.parametrize(
    "model",
    [
        {"surprise": 1},
        {"id": "two words"},
        {"id": ""},
        {"id": "m" * 201},
        {"id": "\ud800"},
        {"id": "tab\t"},
        {"id": 5},
        {"match": None},
        {"match": {}},
        {"match": {"resembles": "m"}},
        {"match": {"equals": "m", "starts_with": "m"}},
        {"match": {"or": 5}},
        {"match": {"regex": "("}},
        {"match": {"or": [{"and": [{"regex": "["}]}]}},
        {"match": {"regex": "a" * 501}},
        {"match": {"regex": 5}},
        {"prices": []},
        {"prices": None},
        {"prices": 5},
        {"prices": [{}]},
        {"prices": [{"prices": PRICES, "until": "2026-01-01"}]},
        {"prices": [{"prices": PRICES, "constraint": {}}]},
        {"prices": [{"prices": PRICES, "constraint": {"start_date": "soon"}}]},
        {"prices": [{"prices": PRICES, "constraint": {"start_date": 0}}]},
        {"prices": [{"prices": PRICES, "constraint": START | {"end_date": "2026-02-01"}}]},
        {"prices": [{"prices": PRICES, "constraint": {"start_time": "01:00:00"}}]},
        {"prices": [{"prices": PRICES, "constraint": {"start_time": 1, "end_time": 2}}]},
        {"prices": {"Input Price": 1}},
        {"prices": {"_hidden": 1}},
        {"prices": {"input_mtok": {"base": 1}}},
        {"prices": {"input_mtok": {"base": 1, "tiers": [], "cap": 1}}},
        {"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 1.5, "price": 1}]}}},
        {"prices": {"input_mtok": {"base": 1, "tiers": [{"start": -1, "price": 1}]}}},
        {"prices": {"input_mtok": {"base": 1, "tiers": [{"start": 1, "price": 1, "end": 2}]}}},
        {"price_variants": 5},
        {"price_variants": [{"prices": PRICES}]},
        {"price_variants": [{"when": {}, "prices": PRICES}]},
        {"price_variants": [{"when": {"processing": 1}, "prices": PRICES}]},
    ],
    ids=lambda model: json.dumps(model)[:60],
)
def test_a_model_that_does_not_follow_the_format_is_refused(model: dict[str, Any]) -> None:
    assert refusal(one(**model)) == "malformed"


@pytest.mark.parametrize(
    "raw",
    [
        [5],
        [None],
        [provider(surprise=1)],
        [provider(models=None)],
        [provider(models=[5])],
        [provider(id="two words")],
        [provider(api_pattern="(")],
        [provider(api_pattern=None)],
        [provider(provider_match={"regex": "("})],
        [{"id": "openai", "name": "OpenAI", "api_pattern": "api"}],
    ],
)
def test_a_provider_that_does_not_follow_the_format_is_refused(raw: list[Any]) -> None:
    assert refusal(json.dumps(raw).encode()) == "malformed"


def test_match_clauses_nested_without_end_are_refused() -> None:
    clause = '{"or":[' * 600 + '{"equals":"m"}' + "]}" * 600
    assert refusal(one().replace(b'{"equals": "m"}', clause.encode())) in ("malformed", "not_json")


@pytest.mark.parametrize(
    "raw",
    [
        [provider(), provider()],
        [provider(), provider(id="OpenAI")],
        [provider(models=[plain(), plain()])],
        [provider(models=[plain(), plain(id="M")])],
        [provider(models=[plain(prices=[{"prices": PRICES}, {"prices": PRICES}])])],
        [provider(models=[plain(prices=[{"prices": PRICES, "constraint": START}] * 2)])],
        [provider(models=[plain(price_variants=[{"when": {"a": "b"}, "prices": PRICES}] * 2)])],
        [provider(models=[plain(prices={"input_mtok": {"base": 1, "tiers": [{"start": 1, "price": 1}] * 2}})])],
    ],
)
def test_what_is_listed_twice_is_refused(raw: list[Any]) -> None:
    assert refusal(json.dumps(raw).encode()) == "duplicate"


def test_a_key_that_stands_twice_is_refused() -> None:
    assert refusal(one().replace(b'"input_mtok": 1', b'"input_mtok": 1, "input_mtok": 2')) == "duplicate"


def test_a_refusal_holds_no_text_of_the_list() -> None:
    with pytest.raises(TableRefused) as caught:
        read_providers(one(surprise="leaked-words"))
    assert "leaked-words" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_extractors_that_this_version_does_not_know_are_no_hindrance() -> None:
    raw = [provider(extractors=[{"root": "usage", "mappings": [{"path": "x", "dest": "unheard_of"}]}])]
    assert read_providers(json.dumps(raw).encode())[0].extractors is None


def test_a_model_that_would_be_a_pattern_is_refused() -> None:
    assert refusal(one(id="m*")) == "malformed"
