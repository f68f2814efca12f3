"""What tool definitions add to a request, in the form in which each vendor shows them to its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from service.domain.amounts import NONE, Amount, fixed, total
from service.domain.catalog import Accuracy
from service.domain.framing import Weigh
from service.domain.request import ResponseSchema, Tool, ToolChoice
from service.domain.rules import Scope

ToolFormat = Literal["typescript", "spaced_json", "json"]
_PLAIN_TYPES = {"string": "string", "boolean": "boolean", "null": "null", "number": "number", "integer": "number"}
_SHOWN_KEYWORDS = frozenset(
    ("type", "properties", "required", "enum", "items", "anyOf", "oneOf", "description", "additionalProperties")
)
_DESCRIBED_DEPTH = 2  # descriptions are shown at the first level only; each level is indented by two


@dataclass(frozen=True, slots=True)
class ToolRule:
    """How a vendor shows tools, in tokens.

    ``request`` is added once where there is any tool, ``request_forced`` in its place where one has to be called;
    ``system`` where there is a system message too, whose text then ends in a line feed if ``system_line``. ``tool`` is
    added for each tool, ``described`` for each with a description. A choice costs ``none``, ``required`` or, beside the
    tool's name, ``named`` (``legacy_named`` for the older functions). The vendor's count lies between
    ``low_percent`` and ``high_percent`` of the definitions' tokens, and ``low`` and ``high``, ``low_tool`` and
    ``high_tool`` for each, further.
    """

    scope: Scope
    format: ToolFormat = "json"
    request: int = 0
    request_forced: int | None = None
    system: int = 0
    system_line: bool = False
    tool: int = 0
    described: int = 0
    none: int = 0
    required: int = 0
    named: int = 0
    legacy_named: int = 0
    low: int = 0
    high: int = 0
    low_tool: int = 0
    high_tool: int = 0
    low_percent: int = 100
    high_percent: int = 100
    accuracy: Accuracy = Accuracy.CLOSE
    reasons: tuple[str, ...] = ()

    def amount(
        self, tools: Sequence[Tool], choice: ToolChoice | None, weigh: Weigh, system: str | None = None
    ) -> Amount:
        """What ``tools`` and ``choice`` add; ``system`` is the first system message's text, if there is one."""
        shown = total(weigh(text) for text in _FORMATS[self.format](tools))
        marks = self._marks(tools, choice, has_system=system is not None)
        if system is not None and self.system_line:
            marks += max(0, weigh(system + "\n").tokens - weigh(system).tokens)
        if choice is not None and choice.mode == "named":
            shown += weigh(choice.name)
        hidden = unshown(tools, weigh) if self.format == "typescript" else NONE
        low = shown.low * self.low_percent // 100 - self.low - self.low_tool * len(tools)
        high = hidden.high - (-shown.high * self.high_percent // 100) + self.high + self.high_tool * len(tools)
        least = len(tools)  # no vendor shows a tool in less than a token
        amount = replace(shown, tokens=shown.tokens + marks, low=max(least, low + marks), high=high + marks)
        return amount.because(self.accuracy, *self.reasons).because(hidden.accuracy, *hidden.reasons)

    def _marks(self, tools: Sequence[Tool], choice: ToolChoice | None, *, has_system: bool) -> int:
        forced = choice is not None and choice.mode in ("required", "named")
        marks = self.request_forced if forced and self.request_forced is not None else self.request
        marks += self.system if has_system else 0
        marks += self.tool * len(tools) + self.described * sum(bool(tool.description) for tool in tools)
        if choice is None or choice.mode == "auto":
            return marks
        named = self.legacy_named if choice.legacy else self.named
        return marks + {"none": self.none, "required": self.required, "named": named}[choice.mode]


@dataclass(frozen=True, slots=True)
class HostedToolRule:
    """A tool that the vendor defines itself, of a type that matches one of ``kinds``."""

    scope: Scope
    kinds: tuple[str, ...]
    tokens: int
    low: int
    high: int

    def matches(self, kind: str) -> bool:
        """Whether the row is about tools of type ``kind``."""
        return any(fnmatchcase(kind, pattern) for pattern in self.kinds)

    def amount(self) -> Amount:
        """What one such tool adds."""
        return Amount(self.tokens, self.low, self.high).because(Accuracy.APPROXIMATE, "hosted_tool_estimated")


@dataclass(frozen=True, slots=True)
class SchemaRule:
    """What the schema of a structured answer adds: its compact JSON and ``request`` tokens, give or take."""

    scope: Scope
    request: int
    low_percent: int
    high_percent: int
    high: int

    def amount(self, response: ResponseSchema, weigh: Weigh) -> Amount:
        """What ``response`` adds."""
        shown = weigh(compact(response.schema))
        tokens = shown.tokens + self.request
        high = -(-shown.high * self.high_percent // 100) + self.high
        amount = replace(shown, tokens=tokens, low=shown.low * self.low_percent // 100, high=max(tokens, high))
        return amount.because(Accuracy.APPROXIMATE, "schema_estimated")


def unshown(tools: Sequence[Tool], weigh: Weigh) -> Amount:
    """Room for schemas with keywords that TypeScript has no form for: a vendor may show them all the same."""
    odd = [tool.parameters for tool in tools if tool.parameters and not _plain(tool.parameters)]
    if not odd:
        return NONE
    told = total(weigh(compact(schema)) for schema in odd)
    return replace(told, tokens=0, low=0).because(Accuracy.APPROXIMATE, "schema_keywords_not_shown")


def _plain(schema: Any) -> bool:
    """Whether ``schema`` says no more than a type in TypeScript does."""
    if not isinstance(schema, Mapping):
        return True
    if not _SHOWN_KEYWORDS.issuperset(schema):
        return False
    inner = [schema.get("items")]
    for union in ("anyOf", "oneOf"):
        inner += schema[union] if isinstance(schema.get(union), list) else ()
    properties = schema.get("properties")
    inner += properties.values() if isinstance(properties, Mapping) else ()
    return all(map(_plain, inner)) and not isinstance(schema.get("additionalProperties"), Mapping)


def compact(value: Any) -> str:
    """``value`` as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _typescript(tools: Sequence[Tool]) -> list[str]:
    """All tools as one TypeScript namespace, as the model reads them."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        if tool.description:
            lines.append(f"// {tool.description}")
        schema = tool.parameters or {}
        if schema.get("properties"):
            lines += [f"type {tool.name} = (_: {{", "\n".join(_properties(schema, 0)), "}) => any;", ""]
        else:
            lines += [f"type {tool.name} = () => any;", ""]
    return ["\n".join([*lines, "} // namespace functions"])]


def _properties(schema: Mapping[str, Any], indent: int) -> Iterator[str]:
    properties, listed = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return
    required = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else ()
    for name, declared in properties.items():
        if not isinstance(declared, Mapping):
            declared = {}  # noqa: PLW2901 - `true` stands for any value
        if declared.get("description") and indent < _DESCRIBED_DEPTH:
            yield f"{' ' * indent}// {declared['description']}"
        mark = "" if name in required else "?"
        yield f"{' ' * indent}{name}{mark}: {_type(declared, indent)},"


def _type(schema: Any, indent: int) -> str:  # noqa: PLR0911 - one return for each kind of type
    """A JSON schema as a TypeScript type; where it has no plain one, ``any``."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(map(compact, schema["enum"]))
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list):
            return " | ".join(_type(choice, indent) for choice in schema[union])
    kind = schema.get("type")
    if isinstance(kind, list):
        once = dict.fromkeys(map(str, kind))  # a type named again would show all below it again
        return " | ".join(_type({**schema, "type": one}, indent) for one in once)
    if kind == "object":
        return "\n".join(["{", "\n".join(_properties(schema, indent + 2)), "}"])
    if kind == "array":
        return f"{_type(schema.get('items'), indent)}[]"
    return _PLAIN_TYPES.get(str(kind), "any")


def _spaced_json(tools: Sequence[Tool]) -> list[str]:
    """Each tool as a JSON object of three keys, with blanks after commas and colons."""
    return [
        json.dumps(
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {}},
            ensure_ascii=False,
        )
        for tool in tools
    ]


def _json(tools: Sequence[Tool]) -> list[str]:
    """Each tool as compact JSON in the form of most chat templates."""
    return [
        compact(
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {}},
            }
        )
        for tool in tools
    ]


_FORMATS: Mapping[ToolFormat, Callable[[Sequence[Tool]], list[str]]] = {
    "typescript": _typescript,
    "spaced_json": _spaced_json,
    "json": _json,
}


def hosted(rules: Sequence[HostedToolRule], tool: Tool, weigh: Weigh) -> Amount:
    """What a tool of the vendor's own adds; of a type without a row, its definition with much room above."""
    rule = next((rule for rule in reversed(rules) if rule.matches(tool.kind)), None)
    if rule is not None:
        return rule.amount()
    sent = weigh(tool.definition) if tool.definition else NONE
    known = sent + fixed(1)
    return replace(known, low=1, high=known.high + _MOST_HOSTED).because(Accuracy.APPROXIMATE, "unsupported_tool")


_MOST_HOSTED = 5000
"""More than any documented tool of a vendor's own: a computer toolset takes about 4,500 tokens."""
