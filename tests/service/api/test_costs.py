"""The costed routes as clients see them. Numbers come from prices of a configuration file, never from the live book."""

from __future__ import annotations

import pytest

from service.app import build_app, build_services
from service.settings import Settings
from tests.service.conftest import Api

CONFIG = """
[[model]]
provider = "local"
id = "own"
tokenizer = "o200k_base"
context_window = 1000
max_output_tokens = 100

[[model]]
provider = "local"
id = "own-embedding"
tokenizer = "o200k_base"
kind = "embedding"
context_window = 3

[[model]]
provider = "local"
id = "unpriced"
tokenizer = "o200k_base"
max_output_tokens = 100

[[price]]
provider = "local"
model = "own"
input_mtok = "2.5"
cache_read_mtok = "1.25"
output_mtok = "10"
tiers = [{above_input = 500, input_mtok = "5", output_mtok = "15"}]
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "own"
service_tier = "batch"
from = 2026-11-10
input_mtok = "1.25"
output_mtok = "5"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "own-embedding"
input_mtok = "0.02"
source = "test"
checked = 2026-11-01
"""


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("priced")
    (folder / "weighbridge.toml").write_text(CONFIG)
    settings = Settings(data_dir=folder, log="off", vocabularies=("o200k_base", "mistral_v3"))
    return Api(build_app(build_services(settings)))


def _cost(api: Api, path: str, **body: object) -> dict:
    answer = api.post(path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_estimate_shows_every_step_from_the_row_to_the_sum(priced):
    answer = _cost(priced, "/v1/estimate", model="own", text="Hello, World!", max_output_tokens=100)
    cost = answer["cost"]
    assert (cost["status"], cost["low"], cost["expected"]) == ("priced", "0.00001", "0.00101")
    assert cost["components"] == [
        {"unit": "input", "usd": "0.00001", "tokens": 4, "usd_per_mtok": "2.5"},
        {"unit": "output", "usd": "0.001", "tokens": 100, "usd_per_mtok": "10"},
    ]
    assert answer["price"]["provider"] == "local"
    assert answer["price"]["model"] == "own"
    assert answer["price"]["checked"] == "2026-11-01"
    assert (answer["input_tokens"], answer["context"]) == (4, {"window": 1000, "fits": True, "remaining": 896})


def test_a_framed_message_is_in_the_high_bound_of_a_chat_model(priced):
    answer = _cost(priced, "/v1/estimate", model="own", text="Hello, World!", max_output_tokens=0)
    assert answer["cost"]["high"] == "0.00009"  # 4 and the 32 of a format that is not published
    assert [w["code"] for w in answer["warnings"]] == ["framing_not_included"]


def test_several_texts_are_several_calls(priced):
    answer = _cost(priced, "/v1/estimate", model="own", texts=["Hello, World!"] * 3, max_output_tokens=100)
    assert (answer["tokens"], answer["cost"]["expected"], len(answer["items"])) == (12, "0.00303", 3)


def test_a_tier_is_named_with_its_threshold(priced):
    answer = _cost(priced, "/v1/cost", model="own", usage={"input_tokens": 501, "output_tokens": 10})
    assert answer["cost"]["expected"] == "0.002655"
    assert [c["above_input_tokens"] for c in answer["cost"]["components"]] == [500, 500]
    below = _cost(priced, "/v1/cost", model="own", usage={"input_tokens": 500, "output_tokens": 10})
    assert below["cost"]["expected"] == "0.00135"


@pytest.mark.parametrize(
    ("at", "status", "expected"),
    [("2026-11-09T23:59:59.999Z", "unknown", None), ("2026-11-10T00:00:00Z", "priced", "0.00125")],
)
def test_a_tier_of_service_holds_from_the_first_instant_of_its_date(priced, at, status, expected):
    usage = {"input_tokens": 1000}
    answer = _cost(priced, "/v1/cost", model="own", usage=usage, service_tier="batch", at=at)
    assert (answer["cost"]["status"], answer["cost"]["expected"]) == (status, expected)
    assert answer["cost"]["missing"] == (None if expected else "date")


def test_a_time_with_an_offset_is_the_same_instant(priced):
    usage = {"input_tokens": 1000}
    answer = _cost(priced, "/v1/cost", model="own", usage=usage, service_tier="batch", at="2026-11-10T01:00:00+02:00")
    assert answer["cost"]["status"] == "unknown"


def test_a_tier_that_is_not_modelled_is_unknown_not_standard(priced):
    answer = _cost(priced, "/v1/cost", model="own", usage={"input_tokens": 1000}, service_tier="flex")
    assert (answer["cost"]["status"], answer["cost"]["missing"]) == ("unknown", "service_tier")
    assert (answer["cost"]["low"], answer["cost"]["high"], answer["price"]) == (None, None, None)


def test_an_unknown_price_is_never_a_number(priced):
    answer = _cost(priced, "/v1/estimate", model="unpriced", text="Hello", max_cost_usd="1")
    assert (answer["cost"]["status"], answer["cost"]["expected"], answer["price"]) == ("unknown", None, None)
    assert answer["affordable"] == {"max_cost_usd": "1", "output_tokens": None, "input_fits": None}
    metrics = priced.get("/metrics").text
    assert "weighbridge_unknown_prices_total" in metrics


def test_a_unit_without_a_rate_is_named(priced):
    answer = _cost(priced, "/v1/cost", model="own", usage={"input_tokens": 10, "web_searches": 2})
    assert (answer["cost"]["status"], answer["cost"]["missing"]) == ("unknown", "web_searches")


def test_an_embedding_says_what_it_counted_and_what_it_accepts(priced):
    answer = _cost(priced, "/v1/estimate", model="own-embedding", text="Hello, World!")
    assert (answer["counted"], answer["accepted"], answer["max_output_tokens"]) == (4, 3, 0)
    assert answer["cost"]["high"] == "0.00000008"
    assert [w["code"] for w in answer["warnings"]] == ["input_truncated"]


def test_what_a_sum_pays_for_is_exact(priced):
    body = {"model": "own-embedding", "text": "Hello, World!", "max_cost_usd": "0.00000008"}
    assert _cost(priced, "/v1/estimate", **body)["affordable"]["input_fits"] is True
    body["max_cost_usd"] = "0.00000007"
    assert _cost(priced, "/v1/estimate", **body)["affordable"]["input_fits"] is False


def test_a_comparison_puts_the_cheapest_first_and_unknown_prices_last(priced):
    answer = _cost(
        priced, "/v1/compare", text="Hello", models=["unpriced", "own", "local/own-embedding"], max_output_tokens=1
    )
    assert [row["model"] for row in answer["rows"]] == ["own-embedding", "own", "unpriced"]
    assert answer["cheapest"] == "own-embedding"
    assert answer["rows"][2]["cost"]["status"] == "unknown"


def test_a_comparison_without_a_limit_ranks_by_the_text_alone(priced):
    row = _cost(priced, "/v1/compare", text="Hello, World!", models=["own"])["rows"][0]
    assert (row["cost"]["low"], row["cost"]["expected"], row["cost"]["high"]) == ("0.00001", "0.00001", "0.00109")


@pytest.mark.parametrize("query", ["modell=own", "provider=local&provider=openai", "model=%00"])
def test_an_unknown_query_name_is_refused_like_an_unknown_field_and_so_is_one_given_twice(priced, query):
    answer = priced.get(f"/v1/prices?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_a_comparison_takes_tokens_apart_by_script(priced):
    answer = _cost(priced, "/v1/compare", text="hello 世界", tokenizers=["o200k_base"])
    scripts = answer["rows"][0]["by_script"]
    assert {name: (s["characters"], s["tokens"]) for name, s in scripts.items()} == {
        "Latin": (5, 1),
        "Han": (2, 1),
        "Common": (1, 0),
    }
    assert answer["rows"][0]["cost"] is None
    assert answer["cheapest"] is None


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "grok-4", "claude-sonnet-4-5", "gpt-4o"])
def test_the_scripts_of_a_row_add_up_to_its_tokens(api, model):
    texts = ["Hello, World! 你好，世界！ Привет мир 123 ... 👍🏽", "ok"]
    row = _cost(api, "/v1/compare", texts=texts, models=[model])["rows"][0]
    assert sum(script["tokens"] for script in row["by_script"].values()) == row["tokens"]


def test_the_cheapest_is_named_with_its_seller(api):
    answer = _cost(api, "/v1/compare", text="Hello", models=["azure/gpt-4o"], max_output_tokens=1)
    assert answer["cheapest"] == "azure/gpt-4o"


def test_six_strings_over_six_vocabularies_in_one_call(api):
    texts = [
        *("Hello, World!", "你好，世界！", "function fibonacci(n) {", "console.log(result)"),
        *("const x = arr.map(i => i * 2)", "📧 Email: user@example.com"),
    ]
    names = ["o200k_base", "cl100k_base", "qwen", "tekken"]
    answer = _cost(api, "/v1/compare", texts=texts, tokenizers=names)
    found = {row["tokenizer"]["name"]: [item["tokens"] for item in row["items"]] for row in answer["rows"]}
    assert found == {
        "o200k_base": [4, 4, 5, 4, 12, 7],
        "cl100k_base": [4, 7, 5, 4, 12, 8],
        "qwen": [4, 4, 5, 4, 12, 6],
        "tekken": [4, 4, 6, 4, 12, 9],
    }


def test_models_whose_vocabulary_is_not_installed_stay_in_marked(api):
    answer = _cost(api, "/v1/compare", text="Hello", models=["gpt-4o", "groq/llama-3.3-70b-versatile"])
    marked = {row["model"]: row["installed"] for row in answer["rows"]}
    assert len(marked) == 2
    assert marked["gpt-4o"] is True


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/estimate", {"text": "a"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "tokenizer": "o200k_base", "text": "a"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "max_output_tokens": -1}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "service_tier": "turbo"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "cache": {"write": "2h"}}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "cache": {"read_tokens": 9}}, 422, "inconsistent_usage"),
        ("/v1/estimate", {"model": "own", "text": "a", "max_cost_usd": "-1"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "max_cost_usd": "NaN"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "max_cost_usd": "1e999999"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "max_cost_usd": "1e-999999"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "max_cost_usd": "a dollar"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "at": "2026-11-29T12:00:00"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "at": "yesterday"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "own", "text": "a", "at": "9999-12-31T23:59:59-12:00"}, 422, "invalid_request"),
        ("/v1/cost", {"model": "own", "usage": {}, "at": "0001-01-01T00:00:00+14:00"}, 422, "invalid_request"),
        ("/v1/estimate", {"model": "owm", "text": "a"}, 422, "unknown_model"),
        ("/v1/cost", {"model": "own"}, 422, "invalid_request"),
        (
            "/v1/cost",
            {"model": "own", "usage": {"input_tokens": 10, "cache_read_tokens": 20}},
            422,
            "inconsistent_usage",
        ),
        ("/v1/cost", {"model": "own", "usage": {"output_tokens": -100}}, 422, "invalid_request"),
        ("/v1/cost", {"model": "own", "usage": {"input_tokens": None}}, 422, "invalid_request"),
        ("/v1/cost", {"model": "own", "usage": {"input_tokens": 10**13}}, 422, "invalid_request"),
        ("/v1/cost", {"model": "own", "usage": {"web_searches": "1e400"}}, 422, "invalid_request"),
        ("/v1/cost", {"model": "own", "usage": {"web_searches": -1}}, 422, "invalid_request"),
        ("/v1/cost", {"model": "own", "usage": {"prompt_tokens": 5}}, 422, "usage_missing"),
        ("/v1/cost", {"model": "gpt-99", "usage": {}}, 422, "unknown_model"),
        ("/v1/compare", {"text": "a", "models": [], "tokenizers": None}, 422, "invalid_request"),
        ("/v1/compare", {"text": "a", "models": ["own"], "tokenizers": ["o200k_base"]}, 422, "invalid_request"),
        ("/v1/compare", {"models": ["own"]}, 422, "invalid_request"),
        ("/v1/compare", {"text": "a", "tokenizers": ["none"]}, 422, "unknown_tokenizer"),
    ],
)
def test_a_bad_request_is_a_problem(priced, path, body, status, code):
    answer = priced.post(path, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_the_price_list_can_be_read_for_one_model(priced):
    rows = priced.get("/v1/prices?provider=local&model=own").json()["rows"]
    assert {(row["service_tier"], row["effective_from"]) for row in rows} == {
        ("standard", None),
        ("batch", "2026-11-10T00:00:00Z"),
    }
    standard = next(row for row in rows if row["service_tier"] == "standard")
    rate = next(rate for rate in standard["rates"] if rate["unit"] == "input")
    assert (rate["usd"], rate["per"], rate["tiers"]) == (
        "2.5",
        1_000_000,
        [{"above_input": 500, "inclusive": False, "usd": "5"}],
    )


def test_the_whole_price_list_has_a_source_and_a_date_in_every_row(api):
    rows = api.get("/v1/prices").json()["rows"]
    assert len(rows) > 2000
    assert [row for row in rows if not row["source"] or not row["checked"]] == []


def test_money_is_recorded_in_whole_nanodollars(priced):
    _cost(priced, "/v1/cost", model="own", usage={"input_tokens": 1})
    metrics = priced.get("/metrics").text
    line = next(
        x for x in metrics.splitlines() if x.startswith('weighbridge_estimated_cost_nanodollars_total{model="own"}')
    )
    assert float(line.split()[1]) == int(float(line.split()[1])) > 0
