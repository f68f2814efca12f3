"""``weighbridge estimate``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TypeAlias

import click

from service.cli.billing import (
    NONE,
    UNKNOWN,
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
from service.cli.environment import Environment, environment
from service.cli.group import Refusal
from service.cli.output import print_json, print_table
from service.cli.requesting import counted, read_body, resolve_for, takes_request
from service.cli.sources import shown, texts
from service.domain.catalog import Resolution
from service.domain.counting import Count, count_text
from service.domain.estimate import CacheUse, CacheWrite, CallPlan, CostRange, Estimate, summed
from service.domain.estimate import estimate as estimate_call
from service.domain.framing import message_framing
from service.domain.request import media_of

_Named: TypeAlias = Sequence[tuple[str, Estimate]]
"""Each input's name and its estimate."""


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("-m", "--model", metavar="NAME", help="The model that is called.")
@click.option("-p", "--provider", metavar="NAME", help="Who sells the model, where several do.")
@takes_request
@click.option("--max-output", type=token_count, metavar="N", help="Output tokens at most. [default: the model's limit]")
@click.option("--expected-output", type=token_count, metavar="N", help="Output tokens expected. [default: as many]")
@click.option("--cache-read", type=token_count, default=0, metavar="N", help="Input tokens that the cache may hold.")
@click.option("--cache-write", type=click.Choice(["5m", "1h"]), help="The rest of the input is written to the cache.")
@click.option("--max-cost", type=amount, metavar="USD", help="Exit with 1 if it may cost more, or nobody knows.")
@billed
def estimate(
    *,
    files: Sequence[str],
    model: str | None,
    provider: str | None,
    body: str | None,
    dialect: str | None,
    max_output: int | None,
    expected_output: int | None,
    cache_read: int,
    cache_write: CacheWrite | None,
    max_cost: Decimal | None,
    billing: Billing,
    as_json: bool,
) -> None:
    """Estimate what a call with FILES, or with standard input (-), will cost before it is made.

    "low" is the fewest tokens billed the cheapest way without output, "expected" the output that you expect, "high" the
    most tokens billed the dearest way with all the output allowed. Dollars are exact. Several files are a call each: a
    line each (tokens, low, expected, high, file) and the total. What the numbers leave open is said on standard error.
    With --request the input is the body of a call as its vendor takes it; what it says of model and output limit holds.

    Exit codes: 0 done; 1 with --max-cost: "high" is more, or the price or the most output is unknown; 2 wrong command
    line or input.
    """
    here = environment()
    request = None if body is None else read_body(body, dialect, files)
    if request is not None:
        found = resolve_for(here, request, model, provider)
        max_output = request.max_output_tokens if max_output is None else max_output
    elif model is not None:
        found = here.priced.resolve(model, provider)
    else:
        raise click.UsageError("Give a model (-m, --model). `weighbridge models` lists the models.")
    plan = CallPlan(
        billing.at,
        billing.context,
        max_output_tokens=max_output,
        expected_output_tokens=expected_output,
        cache=CacheUse(cache_read, cache_write),
        max_cost_usd=max_cost,
        media=media_of(request) if request is not None else (),
    )
    price = here.pricer.price(found, plan.at, plan.context)
    if request is not None:
        counts, framing = [(body or "", counted(here, request, found, plan.at))], 0
    else:
        counts, framing = _counts(here, found, files), message_framing(here.framings, found.model)
    done = [(name, estimate_call(count, found.model, price, plan, framing=framing)) for name, count in counts]
    _print(done, as_json=as_json)
    if max_cost is not None:
        _require_within(max_cost, done)


def _counts(here: Environment, found: Resolution, files: Sequence[str]) -> list[tuple[str, Count]]:
    """Each file's name and the count of its bare text."""
    sent = list(texts(files))
    scale = here.weigher([here.vocabulary_of(found.model)]).scale_of(found)
    paths = ["text"] if len(sent) == 1 else [f"texts[{index}]" for index in range(len(sent))]
    return [(name, count_text(scale, text, path=path)) for (name, text), path in zip(sent, paths, strict=True)]


def _print(done: _Named, *, as_json: bool) -> None:
    total = summed([item.cost for _, item in done])
    if as_json:
        _print_json(done)
        return
    if len(done) == 1:
        [(_, only)] = done
        print_facts(_facts(only))
        print_components(only.cost.components)
    else:
        _print_lines(done, total)
    for name, item in done:
        print_notices((*item.count.warnings, *item.notices), shown(name) if len(done) > 1 else "")


def _facts(item: Estimate) -> Iterator[tuple[str, object]]:
    count, window = item.count, item.context
    yield "model", f"{count.provider}/{count.model}"
    sure = f", between {count.low} and {count.high}" if count.low != count.high else ""
    yield "tokens", f"{count.tokens}{sure} ({', '.join((count.accuracy, *count.accuracy_reasons))})"
    most = UNKNOWN if item.max_output_tokens is None else item.max_output_tokens
    yield "output", f"{item.expected_output_tokens} expected, {most} at most"
    if window.window is None:
        yield "context", UNKNOWN
    else:
        yield "context", f"{window.window}, {'fits' if window.fits else 'may not fit'}, {window.remaining} left"
    yield "low", dollars(item.cost.low)
    yield "expected", dollars(item.cost.expected)
    yield "high", _high(item.cost)
    yield "price", origin(item.price)


def _print_lines(done: _Named, total: CostRange) -> None:
    rows = [(item.count.tokens, item.cost, shown(name)) for name, item in done]
    rows.append((sum(tokens for tokens, _, _ in rows), total, "total"))
    columns = ("tokens", "low", "expected", "high", "file")
    cells = [(tokens, dollars(cost.low), dollars(cost.expected), _high(cost), name) for tokens, cost, name in rows]
    print_table(columns, cells, right=columns[:-1])


def _high(cost: CostRange) -> str:
    return dollars(cost.high, UNKNOWN if cost.status == "unknown" else NONE)


def _print_json(done: _Named) -> None:
    from service.api.pricing.wire import wire_batch, wire_estimate  # noqa: PLC0415 - 35 ms that only --json costs

    items = [item for _, item in done]
    print_json(wire_estimate(items[0]) if len(items) == 1 else wire_batch(items))


def _require_within(limit: Decimal, done: _Named) -> None:
    """The limit is for all calls together. Raises ``Refusal``."""
    total = summed([item.cost for _, item in done])
    if total.status == "unknown":
        raise Refusal(
            f"The price is unknown ({total.missing}), so nothing says that {dollars(limit)} dollars are enough."
        )
    if total.high is None:
        raise Refusal("There is no upper bound without --max-output: no source gives this model's own limit.")
    if total.high > limit:
        raise Refusal(f"It may cost {dollars(total.high)} dollars, more than {dollars(limit)}." + _affordable(done))


def _affordable(done: _Named) -> str:
    affordable = done[0][1].affordable
    if len(done) > 1 or affordable is None or affordable.output_tokens is None:
        return ""
    if not affordable.input_fits:
        return " The input alone may cost more."
    return f" With --max-output {affordable.output_tokens} it cannot."
