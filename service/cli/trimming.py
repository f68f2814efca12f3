"""``weighbridge trim``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import click

from service.cli.billing import print_notices, token_count
from service.cli.environment import environment
from service.cli.group import REFUSED
from service.cli.output import note
from service.cli.requesting import DIALECTS, counter, read_values, refused, request_in, resolve_for
from service.cli.sources import STDIN
from service.domain.counting import Count
from service.domain.notices import Notice

_places = click.IntRange(0, 100_000)


@click.command()
@click.argument("file", default=STDIN, type=click.Path())
@click.option("-m", "--model", metavar="NAME", help="The model that is called. [default: the one that the body names]")
@click.option("-p", "--provider", metavar="NAME", help="Who sells the model, where several do.")
@click.option("--dialect", type=click.Choice(DIALECTS), help="The wire form of the body. [default: recognised]")
@click.option("--limit", type=click.IntRange(1, 10**12), metavar="N", help="Tokens at most. [default: what fits]")
@click.option("--max-output", type=token_count, metavar="N", help="Tokens of the context window to keep free.")
@click.option("--keep-first", type=_places, default=0, show_default=True, metavar="N", help="First turns to keep.")
@click.option("--keep-last", type=_places, default=1, show_default=True, metavar="N", help="Last turns to keep.")
@click.option(
    "--fit-by",
    type=click.Choice(["high", "tokens"]),
    default="high",
    show_default=True,
    help="Whether the upper bound of an inexact count has to fit, or only the count.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON, as the HTTP route answers it.")
@click.pass_context
def trim(
    context: click.Context,
    *,
    file: str,
    model: str | None,
    provider: str | None,
    dialect: str | None,
    limit: int | None,
    max_output: int | None,
    keep_first: int,
    keep_last: int,
    fit_by: Literal["high", "tokens"],
    as_json: bool,
) -> None:
    """Drop the oldest turns of the call in FILE, or standard input (-), until it fits, and print what is left of it.

    FILE is the JSON body of a call as its vendor takes it. It has to fit --limit, or else the model's context window
    with the output kept free. System messages, the last message of the user and tool calls with their results stay
    whole. How many tokens it was and is goes to standard error.

    Exit codes: 0 done; 1 what has to stay does not fit, and is printed; 2 wrong command line or input.
    """
    from service.api.dialects.conversation import conversation_in  # noqa: PLC0415 - as above
    from service.api.saving import trim as work  # noqa: PLC0415 - 60 ms that only requests cost
    from service.api.saving.schemas import TrimRequest  # noqa: PLC0415 - as above

    here, values = environment(), read_values(file)
    given = TrimRequest(
        request=values,
        limit=limit,
        max_output_tokens=max_output,
        keep_first=keep_first,
        keep_last=keep_last,
        fit_by=fit_by,
    )
    request = request_in(values, file, dialect)
    found = resolve_for(here, request, model, provider)
    count = counter(here, found)
    notices: list[Notice] = []
    with refused(file):
        limit = work.limit_of(found, request, given, notices)
    talk = conversation_in(values)

    def recount(kept: Sequence[int]) -> Count:
        return count(request_in(talk.only(kept), file, dialect))

    trimmed = work.trimmed_of(request, talk, given, limit, recount)
    answer = work.answer_of(trimmed, request, given, talk, notices)
    click.echo(work.encoded(answer if as_json else answer.request))
    if not as_json:
        note(f"{answer.tokens_before} tokens before, {answer.tokens_after} now; {len(answer.dropped)} turns dropped.")
        print_notices(answer.warnings)
    if not trimmed.fits:
        context.exit(REFUSED)
