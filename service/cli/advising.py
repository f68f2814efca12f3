"""``weighbridge advise``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import click

from service.cli.billing import NONE, UNKNOWN, Billing, billed, print_facts, print_notices, token_count
from service.cli.environment import Environment, environment
from service.cli.output import print_json, print_table
from service.cli.requesting import counter, read_body, refused, resolve_for, takes_request
from service.cli.sources import STDIN, decoded, named, read
from service.domain.catalog import Resolution
from service.domain.counting import Count, count_text
from service.domain.request import Request, Text, user_message

if TYPE_CHECKING:
    from service.api.saving.schemas import AdviseAnswer, WireAdvice
    from service.domain.advice import Weigh


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("-m", "--model", metavar="NAME", help="The model that is called.")
@click.option("-p", "--provider", metavar="NAME", help="Who sells the model, where several do.")
@takes_request
@click.option("--alternative", metavar="FILE", help="A text to measure in place of yours.")
@click.option(
    "--alternative-of",
    type=click.Choice(["user", "system"]),
    default="user",
    show_default=True,
    help="Whether it stands for the last message of the user or the system message.",
)
@click.option("--expected-output", type=token_count, metavar="N", help="Output tokens expected. [default: none]")
@click.option("--cache-read", type=token_count, default=0, metavar="N", help="Input tokens that are cached already.")
@click.option("--cache-write", type=click.Choice(["5m", "1h"]), help="The rest of the input is written to the cache.")
@billed
def advise(
    *,
    files: Sequence[str],
    model: str | None,
    provider: str | None,
    body: str | None,
    dialect: str | None,
    alternative: str | None,
    alternative_of: Literal["user", "system"],
    expected_output: int | None,
    cache_read: int,
    cache_write: Literal["5m", "1h"] | None,
    billing: Billing,
    as_json: bool,
) -> None:
    """Measure what would save tokens or money on a call with FILE, or with standard input (-).

    A line for each way that applies: its code, tokens and dollars saved, where, and in which service tier. Then what
    all changes of the content save together. Each is counted on your own text; --json also says what does not apply,
    and why. With --request the input is the body of a call as its vendor takes it.

    Exit codes: 0 done; 2 wrong command line or input.
    """
    from service.api.pricing.schemas import Cache  # noqa: PLC0415 - as above
    from service.api.saving import advise as work  # noqa: PLC0415 - 60 ms that only advice costs
    from service.api.saving.schemas import AdviseRequest  # noqa: PLC0415 - as above
    from service.api.saving.wire import wire_advised  # noqa: PLC0415 - as above

    if len(files) > 1:
        raise click.UsageError("Advice is about one call: give one FILE, or a --request.")
    here, name = environment(), body if body is not None else named(files)[0]
    request = read_body(body, dialect, files) if body is not None else user_message(decoded(name, read(name)))
    found = resolve_for(here, request, model, provider)
    weigh = counter(here, found, billing.at) if body is not None else _bare(here, found)
    given = AdviseRequest(
        service_tier=billing.context.service_tier,  # type: ignore[arg-type]  # one of the five
        region=billing.context.region,
        expected_output_tokens=expected_output,
        cache=Cache(cache_read, cache_write),
        alternative_text=None if alternative is None else decoded(alternative, read(alternative)),
        alternative_of=alternative_of,
    )
    with refused(name or STDIN):
        call = work.call_of(given, request, found, weigh, (here.pricer, here.rules, billing.at))
        answer = wire_advised(work.advised_of(given, call), call)
    if as_json:
        print_json(answer)
    else:
        _print(answer)


def _bare(here: Environment, found: Resolution) -> Weigh:
    scale = here.weigher([here.vocabulary_of(found.model)]).scale_of(found)

    def weigh(request: Request) -> Count:
        [part] = request.messages[0].parts
        return count_text(scale, part.text if isinstance(part, Text) else "")

    return weigh


def _print(answer: AdviseAnswer) -> None:
    together = answer.combined
    print_facts(
        (
            ("model", f"{answer.provider}/{answer.model}"),
            ("tokens", answer.tokens),
            ("dollars", answer.usd or UNKNOWN),
        )
    )
    columns = ("advice", "tokens", "dollars", "where")
    rows = [_row(item) for item in answer.advice if item.applies]
    rows.append(("combined", together.tokens_saved, together.usd_saved or UNKNOWN, ", ".join(together.codes) or NONE))
    print_table(columns, rows, right=columns[1:3])
    print_notices(answer.warnings)


def _row(item: WireAdvice) -> tuple[str, int, str, str]:
    return item.code, item.tokens_saved, item.usd_saved or UNKNOWN, ", ".join(_where(item)) or NONE


def _where(item: WireAdvice) -> Iterator[str]:
    if item.path:
        more = f" and {item.found - 1} more" if item.found > 1 else ""
        offset = item.places[0].offset
        yield (f"{item.path}:{offset}" if offset is not None else item.path) + more
    if item.service_tier:
        yield item.service_tier
    if item.caching:
        yield f"{item.caching.cached_tokens} tokens"
