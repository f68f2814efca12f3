"""What a vendor keeps of a prompt, the beginning that stays, and when its writing pays."""

from __future__ import annotations

from decimal import Decimal

import pytest

from service.configfile.rules import rule_book
from service.domain.caching import CacheRule, Caching, stable_prefix
from service.domain.catalog import ModelSpec
from service.domain.request import Message, Request, Text, Tool, ToolCall, ToolResult
from service.domain.rules import Asked, Scope


@pytest.mark.parametrize(
    ("tokens", "kept"), [(0, 0), (1023, 0), (1024, 1024), (1025, 1024), (1151, 1024), (1152, 1152)]
)
def test_from_the_minimum_on_whole_steps_are_kept(tokens: int, kept: int) -> None:
    assert CacheRule(Scope(), 1024, 128).kept(tokens) == kept


@pytest.mark.parametrize(
    ("saved", "surcharge", "calls"),
    [("2.7", "0.75", 1), ("2.7", "3", 2), ("1", "3", 3), ("1", "0", 1), ("0", "1", None), ("-1", "1", None)],
)
def test_so_many_further_calls_earn_the_surcharge(saved: str, surcharge: str, calls: int | None) -> None:
    assert Caching(1, 1, 1, None, Decimal(saved), Decimal(surcharge)).break_even_calls == calls


def test_without_a_price_nothing_says_when_it_pays() -> None:
    assert Caching(1, 1, 1, None, None, Decimal(1)).break_even_calls is None


def text(role: str, words: str = "x") -> Message:
    return Message(role, (Text(words),))  # type: ignore[arg-type]


def test_all_before_the_users_last_message_stays() -> None:
    result = Message("user", (ToolResult((Text("r"),), "a"),))
    call = Message("assistant", (ToolCall("f", "{}", "a"),))
    turns = (text("system"), text("user"), text("assistant"), text("user"), call, result)
    prefix = stable_prefix(Request(turns))
    assert prefix is not None
    assert prefix.messages == turns[:3]
    assert not prefix.add_generation_prompt
    assert stable_prefix(Request(turns[1:2])) is None
    alone = stable_prefix(Request(turns[1:2], (Tool("f"),)))
    assert alone is not None
    assert (alone.messages, len(alone.tools)) == ((), 1)


@pytest.mark.parametrize(
    ("provider", "model", "seller", "minimum"),
    [
        ("openai", "gpt-4o", "openai", 1024),
        ("openai", "gpt-4o", "openrouter", None),
        ("openai", "gpt-4", "openai", None),
        ("anthropic", "claude-sonnet-4-5", "anthropic", 1024),
        ("anthropic", "claude-haiku-4-5", "vertex_ai", 4096),
        ("anthropic", "claude-opus-5", "anthropic", 512),
        ("google", "gemini-2.5-flash", "google", 1024),
        ("google", "gemini-2.5-flash", "vertex_ai", 4096),
    ],
)
def test_the_shipped_rows_say_from_how_many_tokens(provider: str, model: str, seller: str, minimum: int | None) -> None:
    rule = rule_book().cache_of(Asked(ModelSpec(provider, model), seller))
    assert (rule.minimum if rule else None) == minimum


def test_every_shipped_row_names_its_source_and_day() -> None:
    for rule in rule_book().caches:
        assert rule.scope.source
        assert rule.scope.checked
        assert rule.minimum % rule.step == 0
