"""What the client loads, sends and reads."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pydantic
import pytest

from service import client as package
from service.client import AsyncWeighbridge, Budget, Hold, Weighbridge
from service.client.awaited import AsyncHold
from tests.service.client.script import COUNT, SETTLED, Script, answer

FOREIGN = ("fastapi", "starlette", "pydantic", "sqlalchemy", "tiktoken", "tokenizers", "adapters", "prometheus_client")


def test_importing_it_loads_nothing_of_the_service():
    code = "import json, sys, service.client; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert [name for name in loaded if name.split(".")[0] in FOREIGN] == []
    own = {name for name in loaded if name.startswith("service.")}
    assert {name for name in own if not name.startswith("service.client")} == set()


def _methods(kind):
    return {name: method for name, method in vars(kind).items() if callable(method) and not name.startswith("_")}


@pytest.mark.parametrize(("waits", "awaited"), [(Weighbridge, AsyncWeighbridge), (Hold, AsyncHold)])
def test_both_clients_have_the_same_methods(waits, awaited):
    own = {"close"}, {"aclose", "to_the_end"}
    assert set(_methods(waits)) - own[0] == set(_methods(awaited)) - own[1]
    for name, method in _methods(waits).items():
        if name in own[0] | {"hold", "budget", "carry_out", "stream"}:
            continue
        assert inspect.signature(method) == inspect.signature(_methods(awaited)[name])
        assert method.__doc__
        assert inspect.signature(method).parameters["self"]


def test_every_method_raises_for_an_argument_it_does_not_have():
    with pytest.raises(TypeError, match="ttl"):
        Script().client().release("r1", ttl=3)


def test_the_package_lists_what_it_has():
    assert set(package.__all__) == {name for name in vars(package) if name[0].isupper()}


def test_a_key_and_a_project_go_with_each_call_of_the_ledger(asker):
    script = Script()
    asker.ask(script, lambda client: client.reserve(amount_usd="1"), key="wb_1", project="lab")
    asker.ask(script, lambda client: client.count("gpt-4o", text="a"), key="wb_1", project="lab")
    assert [request.headers["authorization"] for request in script.seen] == ["Bearer wb_1"] * 2
    assert [request.url.query for request in script.seen] == [b"project=lab", b""]


def test_a_base_url_may_have_a_path(asker):
    script = Script(answer(200, COUNT))
    asker.ask(script, lambda client: client.count("gpt-4o", text="a"), base_url="https://gate.example/weigh/")
    assert str(script.seen[0].url) == "https://gate.example/weigh/v1/count"


def test_names_in_paths_are_quoted(asker):
    script = Script(answer(200, {"name": "a", "limit_usd": None, "spent_usd": "0", "held_usd": "0",
                                 "remaining_usd": None}))  # fmt: skip
    asker.ask(script, lambda client: client.get_budget("a/b?c"))
    assert script.seen[0].url.raw_path == b"/v1/budgets/a%2Fb%3Fc"


@pytest.mark.parametrize(
    "text", ["0.1", "123456789.123456789", "0.000000001", "1E+2", "79228162514264337593543950335.1"]
)
def test_money_is_exact_both_ways(asker, text):
    script = Script(answer(200, {**SETTLED, "cost_usd": text}))
    settled = asker.ask(script, lambda client: client.settle("r1", cost_usd=Decimal(text)))
    assert settled.cost_usd == Decimal(text)
    assert isinstance(settled.cost_usd, Decimal)
    sent = script.body()["cost_usd"]
    assert isinstance(sent, str)
    assert "E" not in sent
    assert Decimal(sent) == Decimal(text)


def test_money_that_comes_as_a_number_is_exact_too(asker):
    body = b'{"name":"a","limit_usd":0.1,"spent_usd":0.3,"held_usd":0,"remaining_usd":-0.2,"warn_at":0.8}'
    budget = asker.ask(Script(httpx.Response(200, content=body)), lambda client: client.get_budget("a"))
    assert budget.spent_usd == Decimal("0.3")
    assert budget.remaining_usd == Decimal("-0.2")


@pytest.mark.parametrize("value", [0.1, True, float("nan"), b"1"])
@pytest.mark.parametrize(
    "use",
    [
        lambda client, value: client.settle("r1", cost_usd=value),
        lambda client, value: client.reserve(amount_usd=value),
        lambda client, value: client.create_budget("a", limit_usd=value),
        lambda client, value: client.change_budget("a", limit_usd=value),
        lambda client, value: client.estimate("gpt-4o", text="a", max_cost_usd=value),
        lambda client, value: client.record_all([{"model": "gpt-4o", "cost_usd": value}]),
    ],
)
def test_a_float_is_no_money(use, value):
    with pytest.raises(TypeError, match="not exact"):
        use(Script().client(), value)


def test_fields_of_a_later_service_are_passed_over(asker):
    body = {**COUNT, "later": [{"x": 1.5}], "tokenizer": {**COUNT["tokenizer"], "later": {}}}
    assert asker.ask(Script(answer(200, body)), lambda client: client.count("gpt-4o", text="a")).tokens == 7


def test_times_know_their_zone(asker):
    found = asker.ask(Script(), lambda client: client.reserve(amount_usd="1"))
    assert found.expires_at == datetime(2026, 11, 30, 8, 10, tzinfo=UTC)


def test_a_removed_limit_is_sent_as_null_and_what_is_not_given_is_not_sent(asker):
    script = Script(answer(200, {"name": "a", "limit_usd": None, "spent_usd": "0", "held_usd": "0",
                                 "remaining_usd": None}))  # fmt: skip
    budget = asker.ask(script, lambda client: client.change_budget("a", limit_usd=None, export=True))
    assert script.body() == {"limit_usd": None, "export": True}
    assert budget == Budget("a", None, Decimal(0), Decimal(0), None)


def test_a_query_has_times_tags_and_what_was_given(asker):
    script = Script(answer(200, {"entries": [], "cursor": None}))
    start = datetime(2026, 11, 1, tzinfo=UTC)
    asker.ask(script, lambda client: client.entries(start=start, tags={"team": "a b"}, limit=5))
    assert dict(script.seen[0].url.params) == {"start": "2026-11-01T00:00:00+00:00", "tag.team": "a b", "limit": "5"}


class _Details(pydantic.BaseModel):
    cached_tokens: int | None = None


class _Usage(pydantic.BaseModel):
    prompt_tokens: int
    completion_tokens: int
    details: _Details | None = None


class _Client:
    """As the objects of SDKs that are generated from a description."""

    def to_dict(self):
        return {"input_tokens": 3, "output_tokens": 4}


@dataclass
class _Own:
    input_tokens: int
    output_tokens: int


@pytest.mark.parametrize(
    ("usage", "sent"),
    [
        (_Usage(prompt_tokens=3, completion_tokens=4), {"prompt_tokens": 3, "completion_tokens": 4}),
        (_Client(), {"input_tokens": 3, "output_tokens": 4}),
        (_Own(3, 4), {"input_tokens": 3, "output_tokens": 4}),
        ({"input_tokens": 3}, {"input_tokens": 3}),
    ],
)
def test_usage_may_be_an_object_of_an_sdk(asker, usage, sent):
    script = Script()
    asker.ask(script, lambda client: client.settle("r1", usage))
    assert script.body() == {"usage": sent}


def test_messages_may_hold_objects_and_be_any_iterable(asker):
    script = Script()
    message = _Usage(prompt_tokens=1, completion_tokens=2)
    asker.ask(script, lambda client: client.reserve("gpt-4o", (m for m in [message, {"role": "user"}]), 5))
    assert script.body() == {
        "model": "gpt-4o",
        "messages": [{"prompt_tokens": 1, "completion_tokens": 2}, {"role": "user"}],
        "max_output_tokens": 5,
    }


def test_half_a_surrogate_pair_is_sent_as_it_stands(asker):
    script = Script()
    asker.ask(script, lambda client: client.count("gpt-4o", text="a\ud800"))
    assert script.body()["text"] == "a\ud800"


def test_what_is_no_data_is_refused():
    with pytest.raises(TypeError, match="cannot be sent"):
        Script().client().settle("r1", object())
