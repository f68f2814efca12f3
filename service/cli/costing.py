"""``weighbridge cost``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import click

from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.pricing_schemas import CostAnswer, UsageIn
from service.api.pricing_wire import usage_of, wire_cost, wire_price, wire_usage
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
from service.domain.costing import Cost, cost_of
from service.domain.usage import UNITS, Usage

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
@click.option("-m", "--model", required=True, metavar="NAME", help="The model that was called.")
@click.option("-p", "--provider", metavar="NAME", help="Who sells the model, where several do.")
@click.option("--input", "input_tokens", type=token_count, metavar="N", help="Input tokens, the cache included.")
@click.option("--output", "output_tokens", type=token_count, metavar="N", help="Output tokens, reasoning included.")
@click.option("--cache-read", "cache_read_tokens", type=token_count, metavar="N", help="Of the input: read from there.")
@click.option("--cache-write", "cache_write_tokens", type=token_count, metavar="N", help="Of the input: written there.")
@click.option("--cache-write-1h", "cache_write_1h_tokens", type=token_count, metavar="N", help="Of those: for an hour.")
@click.option("--reasoning", "reasoning_tokens", type=token_count, metavar="N", help="Of the output: reasoning.")
@click.option("--unit", "units", type=unit, multiple=True, metavar="NAME=N", help="Also used, such as web_searches=3.")
@click.option(
    "--usage", "file", type=click.Path(), metavar="FILE", help="A usage as JSON, in place of the counts; - is stdin."
)
@billed
def cost(
    *,
    model: str,
    provider: str | None,
    units: Sequence[tuple[str, int | Decimal]],
    file: str | None,
    billing: Billing,
    as_json: bool,
    **counts: int | None,
) -> None:
    """Print what a call costs whose usage is known: each product, the sum, and where the price comes from.

    Counts are inclusive: the input holds what was read from and written to the cache, the output holds reasoning. A
    usage as JSON has the names of POST /v1/cost: {"input_tokens": 100, "cache_read_tokens": 80}. Dollars are exact.

    Exit codes: 0 done, 1 the cost is unknown, 2 wrong command line or input.
    """
    here = environment()
    usage = _usage(file, {name: count for name, count in counts.items() if count is not None}, units)
    found = here.priced.find(model, provider)
    price = here.pricer.price(found, billing.at, billing.context)
    result = cost_of(usage, price)
    if as_json:
        print_json(
            CostAnswer(
                model=found.model.id,
                provider=found.provider,
                rule=found.rule,
                usage=wire_usage(usage),
                cost=wire_cost(result),
                price=wire_price(price),
                warnings=result.notices,
            )
        )
    else:
        print_facts(
            [
                ("model", f"{found.provider}/{found.model.id}"),
                ("cost", dollars(result.usd)),
                ("price", origin(price)),
            ]
        )
        print_components(result.components)
    _finish(result, as_json=as_json)


def _usage(file: str | None, counts: Mapping[str, int], units: Sequence[tuple[str, int | Decimal]]) -> Usage:
    if file is not None:
        if counts or units:
            raise click.UsageError("Give the usage as JSON (--usage) or as counts, not both.")
        return _read_usage(file)
    values: dict[str, Any] = dict(counts)
    if not counts and not units:
        raise click.UsageError("Say what was used: --input N --output N, or --usage FILE.")
    for name, quantity in units:
        if name in values:
            raise click.UsageError(f"{name} is given twice.")
        values[name] = quantity
    return usage_of(UsageIn(**values))


def _read_usage(file: str) -> Usage:
    try:
        return usage_of(decode(read(file), UsageIn))
    except ApiError as error:
        where = f" ({error.path})" if error.path else ""
        raise BadInput(f"{shown(file)}{where}: {error.detail}") from None


def _finish(result: Cost, *, as_json: bool) -> None:
    """Say the notices, and refuse where nothing could be priced."""
    if result.status == "unknown":
        raise Refusal(" ".join(notice.message for notice in result.notices))
    if not as_json:
        print_notices(result.notices)
