"""Whole requests on the command line: a vendor's body from a file or standard input, and its count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from service.cli.environment import Environment
from service.cli.group import BadInput
from service.cli.sources import read, shown
from service.domain.catalog import Resolution
from service.domain.counting import Count
from service.domain.errors import UnknownModel
from service.domain.request import Request
from service.domain.requests import count_request
from service.domain.rules import Asked
from service.domain.templates import Rendering

_Command = TypeVar("_Command", bound=Callable[..., Any])
DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "vllm", "litellm")


def takes_request(command: _Command) -> _Command:
    """The options for a whole request in place of files."""
    for option in (
        click.option(
            "--dialect", type=click.Choice(DIALECTS), help="The wire form of --request. [default: recognised]"
        ),
        click.option(
            "--request", "body", metavar="FILE", help="Count the JSON body of a whole call (- for standard input)."
        ),
    ):
        command = option(command)
    return command


def read_body(name: str, dialect: str | None, files: Sequence[str]) -> Request:
    """The request in the file ``name``. Raises ``BadInput``."""
    if files:
        raise click.UsageError("Give FILES of text or a --request, not both.")
    return request_in(read_values(name), name, dialect)


def read_values(name: str) -> dict[str, Any]:
    """The JSON object in the file ``name``. Raises ``BadInput``."""
    from service.api.decoding import decode  # noqa: PLC0415 - 60 ms that only requests cost

    data = read(name)
    with refused(name):
        return decode(data, dict[str, Any])


def request_in(values: Mapping[str, Any], name: str, dialect: str | None) -> Request:
    """The request of the body ``values``, which came from the file ``name``. Raises ``BadInput``."""
    from service.api.dialects.blocks import Probes  # noqa: PLC0415 - 60 ms that only requests cost
    from service.api.dialects.registry import read_request  # noqa: PLC0415 - as above
    from service.rendering.pictures import HeaderSizer  # noqa: PLC0415 - as above

    with refused(name):
        return read_request(values, Probes(HeaderSizer()), dialect=dialect)


@contextmanager
def refused(name: str) -> Iterator[None]:
    """Turn what the service would refuse in the file ``name`` into ``BadInput``."""
    from service.api.errors import ApiError  # noqa: PLC0415 - 60 ms that only requests cost

    try:
        yield
    except ApiError as error:
        place = f" {error.path}:" if error.path else ""
        raise BadInput(f"{shown(name)}:{place} {error.detail}") from None


def resolve_for(here: Environment, request: Request, model: str | None, provider: str | None) -> Resolution:
    """The model asked for, else the one that the body names. Raises ``UnknownModel``."""
    named = model or request.model
    if named is None:
        raise click.UsageError("Give a model (-m): the request names none. `weighbridge models` lists the models.")
    try:
        return here.catalog.resolve(named, provider)
    except UnknownModel:
        return here.priced.resolve(named, provider)


def counted(here: Environment, request: Request, found: Resolution, at: datetime | None = None) -> Count:
    """The count of ``request`` for the model ``found``, by the rules of the day ``at``."""
    return counter(here, found, at)(request)


def counter(here: Environment, found: Resolution, at: datetime | None = None) -> Callable[[Request], Count]:
    """What counts requests for the model ``found``, by the rules of the day ``at``."""
    if found.model.kind != "chat":
        raise BadInput("This model takes text, not a whole request.")
    weigher = here.weigher([here.vocabulary_of(found.model)])
    scale = weigher.scale_of(found)
    rendering = Rendering(here.renderer(weigher.tokenizers), found.model, found.provider)
    day = (at or datetime.now(UTC)).date().isoformat()

    def count(request: Request) -> Count:
        rules = here.rules.of(Asked(found.model, found.provider, request.dialect, day))
        return count_request(scale, request, rules, window=found.model.context_window, renderer=rendering)

    return count
