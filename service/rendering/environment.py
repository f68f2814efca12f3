"""The Jinja environment that chat templates are written for: the one of Hugging Face's ``apply_chat_template``.

Blocks are trimmed, ``tojson`` is plain ``json.dumps`` without HTML escapes, ``raise_exception`` and ``strftime_now``
exist, loops know ``break`` and ``continue``, and ``{% generation %}`` marks what a model wrote and prints its body.
Templates run in Jinja's immutable sandbox. (Facts: transformers 5.23, ``utils/chat_template_utils.py``.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from adapters.port import Stop
from service.domain.errors import ChatNotRendered

Clock = Callable[[], datetime]

MAX_OUTPUT = 64 << 20
"""Characters of the longest rendered chat: four times the largest body."""

_LONGEST_REASON = 200
_LOOKED_AT_EVERY = 256  # pieces of output between two looks at the deadline
_UNRENDERABLE = "they lack what it reads, or have another form (an unknown role, content of the wrong kind)."


class Refusal(TemplateError):
    """The template itself refuses the messages, in its author's words."""


class Generation(Extension):
    """``{% generation %} ... {% endgeneration %}``: the body as it stands."""

    tags = {"generation"}  # noqa: RUF012 - declared so by Jinja

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The nodes between the two tags."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def chat_environment(clock: Clock) -> ImmutableSandboxedEnvironment:
    """An environment for chat templates, in which ``strftime_now`` reads ``clock``."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, LoopControlExtension]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: clock().strftime(form)
    return environment


def rendered(
    template: Template,
    variables: Mapping[str, Any],
    *,
    source: str,
    longest: int = MAX_OUTPUT,
    stop: Stop | None = None,
) -> str:
    """What ``template``, written as ``source``, makes of ``variables``: at most ``longest`` characters.

    Raises ``ChatNotRendered``, in whose message stands nothing but what the source holds, and ``DeadlineExceeded``.
    """
    pieces: list[str] = []
    size = 0
    try:
        for number, piece in enumerate(_pieces(template, variables)):
            if stop is not None and number % _LOOKED_AT_EVERY == 0:
                stop.check()
            size += len(piece)
            if size > longest:
                raise ChatNotRendered(f"it would be longer than {longest} characters.")
            pieces.append(piece)
    except Refusal as refusal:
        raise ChatNotRendered(_said(str(refusal), source)) from None
    except (TemplateError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise ChatNotRendered(_UNRENDERABLE) from None
    return "".join(pieces)


def _pieces(template: Template, variables: Mapping[str, Any]) -> Iterator[str]:
    return iter(template.root_render_func(template.new_context(dict(variables))))


def _said(refusal: str, source: str) -> str:
    """The author's reason as far as it stands in ``source``: where a caller's words begin, it ends."""
    words = refusal[:_LONGEST_REASON]
    while words not in source:
        words = words[:-1]
    words = " ".join(words.split()).rstrip("'\" :.")
    return f"{words}." if words else "its author says no more."


def _refuse(reason: object) -> NoReturn:
    raise Refusal(str(reason))


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: Sequence[str] | None = None,
    sort_keys: bool = False,
) -> str:
    pair = None if separators is None else (separators[0], separators[1])
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=pair, sort_keys=sort_keys)
