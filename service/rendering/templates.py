"""Renders chats with chat templates: those of the catalog's models, and a caller's own where that is allowed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, TypeVar

from jinja2 import Template

from adapters.port import Stop, TokenCounter
from service.domain.catalog import ModelSpec
from service.domain.errors import ChatNotRendered, TemplateNotAllowed
from service.domain.ports import RenderedChat
from service.rendering.environment import Clock, chat_environment
from service.rendering.isolated import render_isolated
from service.rendering.messages import Form, messages_in
from service.rendering.shielding import Marks, Rendering, render_shielded
from service.rendering.writing import ChatWriter

OWN = "own"
"""The name of a caller's own template."""

_OURS = frozenset({"messages", "tools", "documents", "add_generation_prompt", "continue_final_message"})
_READS_PARTS = re.compile(r"""\bfor\s+\w+\s+in\s+\w+(?:\.content\b|\[["']content["']\])""")
_Made = TypeVar("_Made")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A chat template: its Jinja ``source``, the ``form`` of messages it takes, and what it is given besides.

    ``variables`` are the model's special tokens by name (``bos_token``) and switches with another default than absent.
    ``ending`` follows the generation prompt. ``license``, ``origin`` and ``checked`` say where it comes from.
    """

    name: str
    source: str
    form: Form = field(default_factory=Form)
    variables: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    ending: str = ""
    license: str = ""
    origin: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """The models of ``provider`` whose id one of ``models`` matches are trained on ``template``."""

    provider: str
    models: tuple[str, ...]
    template: str

    def matches(self, spec: ModelSpec) -> bool:
        """Whether ``spec`` is one of them."""
        return self.provider == spec.provider and any(fnmatchcase(spec.id, pattern) for pattern in self.models)


class TemplateRenderer:
    """The ``ChatRenderer`` over ``templates``; which model has which, the last of ``uses`` that matches decides.

    ``tokenizers`` tell which literals are special tokens. With ``allow_own`` a caller's own template is rendered, in a
    process of its own. Safe from several threads.
    """

    def __init__(
        self,
        templates: Mapping[str, ChatTemplate],
        uses: Sequence[TemplateUse],
        tokenizers: Mapping[str, TokenCounter],
        *,
        clock: Clock,
        allow_own: bool = False,
    ) -> None:
        self._templates = templates
        self._uses = tuple(uses)
        self._tokenizers = tokenizers
        self._clock = clock
        self._allow_own = allow_own
        self._environment = chat_environment(clock)
        self._compiled: dict[str, Template] = {}
        self._marks: dict[str, Marks] = {}
        self._lock = threading.Lock()

    def template_of(self, model: ModelSpec) -> ChatTemplate | None:
        """The model's template; ``None`` where none is known, or it is not installed."""
        name = next((use.template for use in reversed(self._uses) if use.matches(model)), None)
        return None if name is None else self._templates.get(name)

    def render(
        self,
        model: ModelSpec,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        add_generation_prompt: bool = True,
        options: Mapping[str, Any] | None = None,
        template: str | None = None,
        stop: Stop | None = None,
    ) -> RenderedChat | None:
        """The chat, ``None`` where the model has no known template, or no vocabulary of its own is loaded.

        Raises ``ChatNotRendered``, ``TemplateNotAllowed`` or ``DeadlineExceeded``.
        """
        if template is not None and not self._allow_own:
            raise TemplateNotAllowed
        tokenizer = self._tokenizers.get(model.tokenizer or "")
        known = self.template_of(model)
        chosen = known if template is None else ChatTemplate(OWN, template, _form_read_by(template))
        if tokenizer is None or chosen is None:
            return None
        fixed = {**(known.variables if known else {}), "add_generation_prompt": add_generation_prompt}
        values = {name: value for name, value in (options or {}).items() if name not in _OURS}
        to_continue = bool((options or {}).get("continue_final_message")) and not add_generation_prompt
        write = self._here if template is None else self._isolated
        try:
            values |= {"messages": messages_in(chosen.form, messages), "tools": list(tools) or None}
            done = write(chosen, values, fixed, tokenizer, to_continue, stop)
        except RecursionError:
            raise ChatNotRendered("they are nested too deeply.") from None
        return RenderedChat(done.segments, done.text, chosen.name, done.literals, _ignored(chosen.source, tools))

    def _here(
        self,
        chosen: ChatTemplate,
        values: Mapping[str, Any],
        fixed: Mapping[str, Any],
        tokenizer: TokenCounter,
        to_continue: bool,
        stop: Stop | None,
    ) -> Rendering:
        writer = ChatWriter(
            self._once(self._compiled, chosen.name, lambda: self._environment.from_string(chosen.source)),
            fixed,
            source=chosen.source,
            ending=chosen.ending if fixed["add_generation_prompt"] else "",
            to_continue=to_continue,
            stop=stop,
        )
        marks = self._once(self._marks, tokenizer.name, lambda: Marks(tokenizer.special_tokens))
        return render_shielded(writer, values, marks, chosen.source, stop=stop)

    def _isolated(
        self,
        chosen: ChatTemplate,
        values: Mapping[str, Any],
        fixed: Mapping[str, Any],
        tokenizer: TokenCounter,
        to_continue: bool,
        stop: Stop | None,
    ) -> Rendering:
        literals = list(tokenizer.special_tokens)
        return render_isolated(
            chosen.source, values, fixed, literals, self._clock(), to_continue=to_continue, stop=stop
        )

    def _once(self, made: dict[str, _Made], name: str, make: Callable[[], _Made]) -> _Made:
        """What was made for ``name``: made now, by one thread, where it was not yet."""
        found = made.get(name)
        if found is None:
            with self._lock:
                found = made.get(name)
                if found is None:
                    found = made[name] = make()
        return found


def _form_read_by(source: str) -> Form:
    """The form of messages that a caller's template takes: parts where it loops over some content, as vLLM guesses."""
    return Form("parts") if _READS_PARTS.search(source) else Form()


def _ignored(source: str, tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What was given and a template never reads."""
    return ("tools",) if tools and "tools" not in source else ()
