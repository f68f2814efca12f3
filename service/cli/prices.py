"""``weighbridge prices``: list them, import them, compare them with another list, and say how old they are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import click

from service.cli.billing import NONE, UNKNOWN, instant, moment, print_facts, rate_texts
from service.cli.environment import Environment, environment
from service.cli.group import BadInput, Refusal
from service.cli.output import Printable, note, print_json, print_table, printable
from service.cli.sources import read, shown
from service.domain.ports import SnapshotError
from service.domain.pricenames import price_names
from service.domain.prices import PriceRow, Window
from service.domain.resolution import normalised
from service.pricebook.canaries import differences, read_canaries
from service.pricebook.litellm import import_rows
from service.pricebook.snapshots import FileSnapshots
from service.pricebook.toml import toml_of

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SHOWN_KEYS = 3


class _ListByDefault(click.Group):
    """A group whose command ``list`` runs where none is named: ``prices gpt-4o`` is ``prices list gpt-4o``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``list`` before arguments that begin with no command's name."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_ListByDefault, options_metavar="", subcommand_metavar="[MODEL] [-p PROVIDER] [--json] | COMMAND [ARGS]..."
)
def prices() -> None:
    """List prices: all of them, or those of MODEL, of PROVIDER or of both. The commands do more with them.

    Exit codes: 0 done, 1 there is no such price or two lists disagree, 2 wrong command line or input.
    """


@prices.command("list", short_help="List prices; the word can be left out.")
@click.argument("model", default="")
@click.option("-p", "--provider", default="", metavar="NAME", help="Only the prices of this provider.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON, as GET /v1/prices answers it.")
def list_prices(model: str, provider: str, *, as_json: bool) -> None:
    """List every row of the price list, or those of MODEL, of a provider or of both; the word list can be left out.

    Columns: provider, model, service tier, from, to (exclusive), hours (UTC), dollars per million tokens where nothing
    else is said, source, and when that was checked. Of one model, the row that goes before the others comes first.

    Exit codes: 0 done, 1 there is no such price, 2 wrong command line or configuration.
    """
    here = environment()
    rows = list(_listed(here, model, provider)) or _resolved(here, model, provider)
    if as_json:
        from service.api.pricing.schemas import PriceList  # noqa: PLC0415 - 35 ms that only --json costs
        from service.api.pricing.wire import wire_price_row  # noqa: PLC0415

        print_json(PriceList([wire_price_row(row) for row in rows]))
    else:
        _print_rows(rows)
    if not rows:
        raise Refusal("No price is listed for that.")


@prices.command("import-litellm", short_help="Print the prices of LiteLLM's file as [[price]] rows.")
@click.argument("file", type=click.Path())
@click.option("-p", "--provider", default="", metavar="NAME", help="Only the prices of this provider.")
@click.option("--lacking", is_flag=True, help="Only prices that the price book does not have.")
@click.option("--source", default="", metavar="TEXT", help="What the rows name as their source. [default: the file's]")
@click.option("--checked", type=moment, metavar="DATE", help="When the rows were checked against their source.")
@click.option("-v", "--verbose", is_flag=True, help="Say of every entry that was left out why.")
def import_litellm(
    file: str, provider: str, source: str, checked: datetime | None, *, lacking: bool, verbose: bool
) -> None:
    """Print the prices of FILE, LiteLLM's model_prices_and_context_window.json, as [[price]] rows.

    Review them before they go into the configuration file: that list has no dates, and a rate of 0 in it may mean that
    nobody knows. What could not be taken over is said on standard error.

    Exit codes: 0 done, 2 the file is no such list.
    """
    here = environment()
    try:
        found = import_rows(
            read(file),
            here.priced.hosts.values(),
            lacking_in=here.book if lacking else None,
            source=source,
            checked=instant(checked)[:10],
        )
    except (ValueError, RecursionError):
        raise _not_litellm(file) from None
    sellers = _sellers(here, provider)
    rows = [row for row in found.rows if not provider or row.provider in sellers]
    click.echo(toml_of(rows), nl=False)
    note(f"{len(rows)} rows; review them before they are used")
    _print_reasons([(item.key, item.reason) for item in found.notes], verbose=verbose)


@prices.command("diff", short_help="Compare the price book with LiteLLM's file.")
@click.argument("file", type=click.Path())
@click.option("--at", type=moment, metavar="TIME", help="A date or a time: when prices are compared. [default: now]")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def diff_prices(file: str, at: datetime | None, *, as_json: bool) -> None:
    """Compare the price book with FILE, LiteLLM's model_prices_and_context_window.json, for a few well-known models.

    Columns: provider, model, rate, dollars in the price book, dollars in FILE ("-" where there is none).

    Exit codes: 0 both agree, 1 they do not, 2 the file is no such list.
    """
    here = environment()
    canaries = read_canaries()
    try:
        found = differences(here.book, read(file), canaries, at=at or datetime.now(UTC))
    except (ValueError, RecursionError):
        raise _not_litellm(file) from None
    if as_json:
        print_json(found)
    else:
        columns = ("provider", "model", "rate", "price book", "file")
        cells = [(d.canary.provider, d.canary.model, d.what, d.ours or NONE, d.theirs or NONE) for d in found]
        print_table(columns, cells, right=columns[3:])
    if found:
        models = len({item.canary for item in found})
        raise Refusal(f"The lists disagree on {models} of {len(canaries)} models.")


@prices.command("status", short_help="Say where the prices come from, and how old they are.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def status(*, as_json: bool) -> None:
    """Say where the prices come from: source, revision, when they were checked, their age, and the last refresh.

    "refresh" is off, or what became of the copy that the last refresh kept: restored (it is in force), no_copy, or why
    it is not used; then the bundled list is.

    Exit codes: 0 done, 1 there is a copy but it is not used, 2 wrong configuration.
    """
    here = environment()
    listed, outcome = here.price_list, here.kept_copy
    checked = datetime.fromisoformat(listed.checked).replace(tzinfo=UTC) if listed.checked else None
    facts: dict[str, object] = {
        "source": listed.source,
        "revision": listed.revision,
        "checked": listed.checked or None,
        "age_days": (datetime.now(UTC) - checked).days if checked else None,
        "models": len(here.book.models),
        "own_rows": len(here.config.prices.rows),
        "refresh": outcome.reason if outcome else "off",
        "last_refresh": _last_refresh(here),
    }
    if as_json:
        print_json(facts)
    else:
        print_facts((label.replace("_", " "), NONE if value is None else value) for label, value in facts.items())
    if outcome and outcome.status in ("rejected", "failed"):
        raise Refusal(f"The copy that the last refresh kept is not used ({outcome.reason}); the bundled list is.")


def _last_refresh(here: Environment) -> str | None:
    """When the sender last said that the copy is its list; ``None`` without a copy that can be read."""
    try:
        kept = FileSnapshots(here.settings.data_dir).load()
    except SnapshotError:
        return None
    return instant(kept.checked_at) if kept else None


def _sellers(here: Environment, provider: str) -> frozenset[str]:
    """The ids that prices of a provider may be kept under, by any of its names."""
    name = provider.strip().lower()
    hosts = [host for host in here.priced.hosts.values() if name in (host.id, *host.names)]
    return frozenset({name, *(host.id for host in hosts), *(host.price_provider for host in hosts)}) - {""}


def _listed(here: Environment, model: str, provider: str) -> Iterator[PriceRow]:
    """The rows whose own provider and model are those asked for."""
    name, sellers = normalised(model.strip()), _sellers(here, provider)
    for (seller, listed), rows in here.book.models.items():
        if (not provider or seller in sellers) and name in ("", listed):
            yield from (row for _, row in rows)


def _resolved(here: Environment, model: str, provider: str) -> Sequence[PriceRow]:
    """The rows that price a model whose name the price list does not have. Raises ``UnknownModel``."""
    if not model.strip():
        return []
    found = here.priced.find(model, provider or None)
    name = here.book.find(found.provider, price_names(found, here.priced.hosts.get(found.provider)))
    return [] if name is None else here.book.rows(found.provider, name)


def _print_rows(rows: Sequence[PriceRow]) -> None:
    """On a terminal four columns of facts that belong together, elsewhere a field for each."""
    if sys.stdout.isatty():
        cells = [(f"{r.provider}/{r.model}", *map(_stacked, (_in_force(r), _rates(r), _source(r)))) for r in rows]
        print_table(("model", "in force", "dollars", "source, checked"), cells)
        return
    for row in rows:
        when = (instant(row.start) or NONE, instant(row.end) or NONE, _hours(row.windows) or NONE)
        cell = (row.provider, row.model, row.service_tier, *when, ", ".join(_rates(row)), *map(_or_none, _source(row)))
        print_table(("",) * len(cell), [cell])


def _or_none(text: str) -> str:
    return text or NONE


def _stacked(facts: Iterable[str]) -> Printable:
    """Facts as the lines of one cell."""
    return Printable("\n".join(printable(fact) for fact in facts if fact))


def _in_force(row: PriceRow) -> Iterator[str]:
    start, end = instant(row.start), instant(row.end)
    yield from (row.service_tier, start and f"from {start}", end and f"to {end}", _hours(row.windows))


def _rates(row: PriceRow) -> Sequence[str]:
    if not row.rates:
        return ["free" if row.free else UNKNOWN]
    return rate_texts(row.rates)


def _source(row: PriceRow) -> Sequence[str]:
    return (row.source, row.checked)


def _hours(windows: Sequence[Window]) -> str:
    return ", ".join(f"{_days(window.days)} {window.start:%H:%M}-{window.end:%H:%M}" for window in windows)


def _days(days: frozenset[int]) -> str:
    if len(days) == len(_DAYS):
        return "daily"
    first, last = min(days), max(days)
    if len(days) > 2 and len(days) == last - first + 1:
        return f"{_DAYS[first]}-{_DAYS[last]}"
    return "+".join(_DAYS[day] for day in sorted(days))


def _print_reasons(notes: Sequence[tuple[str, str]], *, verbose: bool) -> None:
    """Each reason with its entries: all of them, or how many there are and the first."""
    if verbose:
        for key, reason in notes:
            note(printable(f"{key}: {reason}"))
        return
    keys: dict[str, list[str]] = {}
    for key, reason in notes:
        keys.setdefault(reason, []).append(key)
    for reason, of in keys.items():
        more = ", ..." if len(of) > _SHOWN_KEYS else ""
        note(printable(f"{reason}: {len(of)} entries ({', '.join(of[:_SHOWN_KEYS])}{more})"))


def _not_litellm(file: str) -> BadInput:
    return BadInput(f"{shown(file)}: this is not LiteLLM's model_prices_and_context_window.json.")
