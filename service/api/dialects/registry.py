"""Which wire form a body is in: the one named, or the one that its own fields show. A doubtful body is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from service.api.dialects import anthropic, bedrock, gemini, litellm, openai_chat, openai_responses, vllm
from service.api.dialects.blocks import Probes
from service.api.dialects.marks import marks_of
from service.api.dialects.walking import Node, check_depth, refuse
from service.api.errors import ApiError
from service.api.weighing.schemas import Dialect
from service.domain.notices import Notice
from service.domain.request import Request


@dataclass(frozen=True, slots=True)
class WireForm:
    """A vendor's wire form: its reader, and the fields of a body that it knows, counted or not."""

    read: Callable[[Node, Probes], Request]
    known: frozenset[str]


FORMS: Mapping[str, WireForm] = {
    form.NAME: WireForm(form.read, form.KNOWN)
    for form in (openai_chat, openai_responses, anthropic, gemini, bedrock, vllm, litellm)
}
"""Every wire form by its name."""

assert set(FORMS) == set(get_args(Dialect))  # noqa: S101 - the schema names what there is


_HOLDERS: Mapping[str, str] = {openai_responses.NAME: "input", gemini.NAME: "contents"}
"""The field that holds the messages, where it has another name."""


def read_request(values: Mapping[str, Any], probes: Probes, *, dialect: str | None = None, path: str = "") -> Request:
    """The request of a body, in the wire form ``dialect`` or the one recognised. Raises ``ApiError`` with the path."""
    check_depth(values, path)
    name = dialect or recognise(values, path)
    form = FORMS[name]
    body = Node(values, path)
    request = form.read(body, probes)
    if not request.messages:
        refuse(path or _HOLDERS.get(name, "messages"), "The request holds no message. Send at least one.")
    strange = sum(key not in form.known for key in values)
    if strange:
        message = f"Fields that the wire form {name} does not have, and that are not counted: {strange}."
        request = replace(request, notices=(*request.notices, Notice("unknown_fields", message, path or "messages")))
    return request


def recognise(values: Mapping[str, Any], path: str = "") -> str:
    """The wire form that a body's own fields show.

    A plain chat that several forms write in the same way reads the same in each, and goes by ``openai_chat``. Raises
    ``ApiError`` where fields of different forms stand together, or none of any.
    """
    shown = marks_of(values)
    if len(shown) == 1:
        return next(iter(shown))
    if len(shown) > 1:
        detail = f"The request fits none of the wire forms alone: it has fields of {' and of '.join(sorted(shown))}."
        raise ApiError(422, "ambiguous_dialect", f"{detail} Name the one meant in `dialect`.", path=path)
    if isinstance(values.get("messages"), list):
        return openai_chat.NAME
    detail = f"The wire form of the request is not recognised. Name it in `dialect`: {', '.join(FORMS)}."
    raise ApiError(422, "unknown_dialect", detail, path=path)
