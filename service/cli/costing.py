"""``weighbridge cost``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

import click
from click.core import ParameterSource

from service.api.decoding import decode
from service.api.dialects.usages.responses import stream_events
from service.api.errors import ApiError
from service.api.pricing.known_cost import Find, KnownCost, known_cost
from service.api.pricing.schemas import CostRequest, UsageDialect, UsageIn
from service.cli.billing import (
    MOST_TOKENS,
    Billing,
    amount,
    billed,
    dollars,
    origin,
    print_components,
    print_facts,
    print_notices,
    token_count,
)
from service.cli.environment import environment
from service.cli.group import BadInput, Refusal
from service.cli.output import print_json
from service.cli.sources import read, shown
from service.domain.pricing import Pricer
from service.domain.usage import UNITS

_JSON: Any = dict[str, Any] | list[Any]
_UNITS = tuple(UsageIn.__struct_fields__)


def unit(text: str) -> tuple[str, int | Decimal]:
    """The value of ``--unit``: the name of a usage's unit, and how much of it."""
    name, found, quantity = text.partition("=")
    name = name.strip().replace("-", "_")
    if not found:
        raise click.BadParameter("Give a name and a quantity, such as web_searches=3.")
    if name not in _UNITS:
        raise click.BadParameter(f"No unit has that name. Known: {', '.join(_UNITS)}.")
    number = amount(quantity.strip())
    if name in UNITS:
        return name, number
    if number != int(number) or number > MOST_TOKENS:
        raise click.BadParameter(f"Tokens are whole numbers, at most {MOST_TOKENS}.")
    return name, int(number)


@click.command()
@click.option("-m", "--model", metavar="NAME", help="The model that was called; of a response, its own by default.")
@click.option("-p", "--provider", metavar="NAME", help="Who sells the model, where several do.")
@click.option("--input", "input_tokens", type=token_count, metavar="N", help="Input tokens, the cache included.")
@click.option("--output", "output_tokens", type=token_count, metavar="N", help="Output tokens, reasoning included.")
@click.option("--cache-read", "cache_read_tokens", type=token_count, metavar="N", help="Of the input: read from there.")
@click.option("--cache-write", "cache_write_tokens", type=token_count, metavar="N", help="Of the input: written there.")
@click.option("--cache-write-1h", "cache_write_1h_tokens", type=token_count, metavar="N", help="Of those: for an hour.")
@click.option("--reasoning", "reasoning_tokens", type=token_count, metavar="N", help="Of the output: reasoning.")
@click.option("--unit", "units", type=unit, multiple=True, metavar="NAME=N", help="Also used, such as web_searches=3.")
@click.option(
    "--usage", type=click.Path(), metavar="FILE", help="A usage as JSON, ours or a vendor's, in place of the counts."
)
@click.option(
    "--response", type=click.Path(), metavar="FILE", help="A vendor's whole response, or its stream. - is stdin."
)
@click.option("--dialect", type=click.Choice(get_args(UsageDialect)), help="The vendor's form, if it cannot be told.")
@billed
def cost(
    *,
    model: str | None,
    provider: str | None,
    units: Sequence[tuple[str, int | Decimal]],
    usage: str | None,
    response: str | None,
    dialect: UsageDialect | None,
    billing: Billing,
    as_json: bool,
    **counts: int | None,
) -> None:
    """Print what a call costs whose usage is known: each product, the sum, and where the price comes from.

    Counts are inclusive: the input holds what was read from and written to the cache, the output holds reasoning. A
    usage as JSON has the names of POST /v1/cost, {"input_tokens": 100, "cache_read_tokens": 80}, or is a vendor's. A
    response may be JSON, or a stream as it came: server-sent events, or one event a line. Dollars are exact.

    Exit codes: 0 done, 1 the cost is unknown, 2 wrong command line or input.
    """
    given = {name: count for name, count in counts.items() if count is not None}
    if model is None and response is None:
        raise click.UsageError("Say which model was called: --model NAME.")
    stated = click.get_current_context().get_parameter_source("tier") is not ParameterSource.DEFAULT
    request = CostRequest(
        model=model,
        provider=provider,
        usage=_usage(usage, given, units, needed=response is None),
        response=None if response is None else _response(response),
        dialect=dialect,
        service_tier=billing.context.service_tier if stated else None,  # type: ignore[arg-type]  # click has checked it
        region=billing.context.region,
    )
    here = environment()
    known = _known(request, here.priced.find, here.pricer, billing.at, response or usage)
    if as_json:
        print_json(known.answer())
    else:
        print_facts(
            [
                ("model", f"{known.found.provider}/{known.found.model.id}"),
                ("cost", dollars(known.cost.usd)),
                ("price", origin(known.price)),
            ]
        )
        print_components(known.cost.components)
    _finish(known, as_json=as_json)


def _known(request: CostRequest, find: Find, pricer: Pricer, at: datetime, file: str | None) -> KnownCost:
    try:
        return known_cost(request, find, pricer, at)
    except ApiError as error:
        where = f" ({error.path})" if error.path else ""
        raise BadInput(f"{shown(file)}{where}: {error.detail}" if file else error.detail) from None


def _usage(
    file: str | None, counts: Mapping[str, int], units: Sequence[tuple[str, int | Decimal]], *, needed: bool
) -> dict[str, Any] | None:
    given = bool(counts or units)
    if (file is not None) + given + (not needed) > 1:
        raise click.UsageError("Give one of them: counts, the usage as JSON (--usage), or a whole response, not both.")
    if file is not None:
        try:
            return decode(read(file), dict[str, Any])
        except ApiError as error:
            raise BadInput(f"{shown(file)}: {error.detail}") from None
    if not given:
        if needed:
            raise click.UsageError("Say what was used: --input N --output N, --usage FILE or --response FILE.")
        return None
    values: dict[str, Any] = dict(counts)
    for name, quantity in units:
        if name in values:
            raise click.UsageError(f"{name} is given twice.")
        values[name] = quantity
    return values


def _response(file: str) -> dict[str, Any] | list[Any]:
    """A response as JSON, or the events of a stream kept as text."""
    data = read(file)
    try:
        response: dict[str, Any] | list[Any] = decode(data, _JSON)
    except ApiError as error:
        try:
            return stream_events(data.decode())
        except (ValueError, RecursionError):
            if data.lstrip()[:1] in (b"{", b"["):
                raise BadInput(f"{shown(file)}: {error.detail}") from None
            message = "neither JSON nor a stream: server-sent events (data: {...}) or one JSON object a line."
            raise BadInput(f"{shown(file)}: {message}") from None
    return response


def _finish(known: KnownCost, *, as_json: bool) -> None:
    """Say the notices, and refuse where nothing could be priced."""
    if known.cost.status == "unknown":
        raise Refusal(" ".join(notice.message for notice in known.notices))
    if not as_json:
        print_notices(known.notices)
