"""Tool definitions as models read them."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.amounts import Amount, fixed
from service.domain.catalog import Accuracy
from service.domain.request import Tool, ToolChoice
from service.domain.rules import Scope
from service.domain.tools import ToolRule, compact


def shown(*tools: Tool, form: str = "typescript") -> str:
    """The text that is counted for ``tools``."""
    told: list[str] = []

    def weigh(text: str) -> Any:
        told.append(text)
        return fixed(len(text))

    ToolRule(Scope(), form).amount(tools, None, weigh)  # type: ignore[arg-type]
    return "\n".join(told)


def typed(schema: dict[str, Any]) -> str:
    """The type of one parameter, as it is shown."""
    text = shown(Tool("f", parameters={"type": "object", "properties": {"p": schema}}))
    return text.partition("p?: ")[2].partition(",\n}) => any;")[0]


def test_a_function_is_a_type_in_a_namespace() -> None:
    schema = {
        "type": "object",
        "properties": {"place": {"type": "string", "description": "Where"}, "days": {"type": "integer"}},
        "required": ["place"],
    }
    assert shown(Tool("weather", "The weather", schema), Tool("now")) == (
        "namespace functions {\n\n// The weather\ntype weather = (_: {\n// Where\nplace: string,\ndays?: number,\n"
        "}) => any;\n\ntype now = () => any;\n\n} // namespace functions"
    )


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer", "enum": [-1, 1]}, "-1 | 1"),
        ({"enum": ["a", None]}, '"a" | null'),
        ({"type": "array", "items": {"type": "boolean"}}, "boolean[]"),
        ({"type": "array"}, "any[]"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"anyOf": [{"type": "number"}, {"$ref": "#/x"}]}, "number | any"),
        ({"type": "object", "properties": {"q": {"type": "null", "description": "d"}}}, "{\n  q?: null,\n}"),
        ({}, "any"),
    ],
)
def test_every_schema_has_a_type(schema: dict[str, Any], text: str) -> None:
    assert typed(schema) == text


def test_a_type_named_again_and_again_is_shown_once() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": ["object"] * 20, "properties": {"a": schema}}
    assert len(typed(schema)) < 10_000


def test_thousands_of_required_fields_are_looked_up_once_each() -> None:
    names = [f"n{number}" for number in range(30_000)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    assert shown(Tool("f", parameters=schema)).count("?:") == 0


def test_the_other_forms_are_json() -> None:
    tool = Tool("f", "d", {"type": "object"})
    assert shown(tool, form="spaced_json") == '{"name": "f", "description": "d", "parameters": {"type": "object"}}'
    assert shown(tool, form="json") == (
        '{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}'
    )


def test_a_forced_choice_has_a_preamble_of_its_own() -> None:
    rule = ToolRule(Scope(), "json", request=100, request_forced=150, tool=2, described=4, none=1, named=3)
    tools = [Tool("f", "d"), Tool("g")]

    def marks(choice: ToolChoice | None) -> int:
        return rule.amount(tools, choice, lambda text: fixed(len(text) if text == "f" else 0)).tokens

    assert marks(None) == marks(ToolChoice("auto")) == 100 + 2 * 2 + 4
    assert marks(ToolChoice("none")) == 100 + 8 + 1
    assert marks(ToolChoice("required")) == 150 + 8
    assert marks(ToolChoice("named", "f")) == 150 + 8 + 3 + 1


def amount(schema: dict[str, Any]) -> Amount:
    """What a tool with ``schema`` takes where every character is a token and the rule leaves no room."""
    return ToolRule(Scope(), "typescript").amount([Tool("f", parameters=schema)], None, lambda text: fixed(len(text)))


@pytest.mark.parametrize(
    "more",
    [
        {"$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}}}},
        {"properties": {"p": {"type": "string", "pattern": "[a-z]+"}}},
        {"properties": {"p": {"type": "array", "items": {"const": 1}}}},
        {"properties": {"p": {"anyOf": [{"$ref": "#/$defs/Place"}]}}},
        {"additionalProperties": {"type": "string"}},
    ],
)
def test_what_a_type_cannot_say_has_room_above(more: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {}, **more}
    found = amount(schema)
    assert found.high == found.tokens + len(compact(schema))
    assert (found.accuracy, found.reasons) == (Accuracy.APPROXIMATE, ("schema_keywords_not_shown",))


def test_what_a_type_can_say_has_none() -> None:
    field = {"type": "array", "description": "d", "items": {"anyOf": [{"type": "string", "enum": ["a"]}, True]}}
    schema = {"type": "object", "properties": {"p": field}, "required": ["p"], "additionalProperties": False}
    found = amount(schema)
    assert (found.low, found.high, found.accuracy) == (found.tokens, found.tokens, Accuracy.CLOSE)
