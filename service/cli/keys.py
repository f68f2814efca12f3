"""``weighbridge keys``: make, list, rotate and revoke keys, in the database that the service uses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import click

from service.cli.billing import moment
from service.cli.environment import environment
from service.cli.group import BadInput, Refusal
from service.cli.output import note, print_table
from service.domain.errors import DomainError
from service.domain.keys.access import KeyScope
from service.domain.keys.errors import InvalidKey, UnknownKey
from service.domain.keys.keyring import KeyRing
from service.domain.keys.keys import MAX_OVERLAP_SECONDS, Key, KeySpec, is_key_id, scopes_of
from service.domain.keys.rates import FORM, RateLimit
from service.domain.spending.budgets import DEFAULT_PROJECT
from service.store.keys import SqlKeys
from service.store.ledger import sql_ledger

T = TypeVar("T")

_BY = "command line"
_COLUMNS = ("id", "project", "name", "scopes", "created", "expires", "last used", "state")


@click.group()
def keys() -> None:
    """Make and revoke keys, in the ledger's database, also while the service runs: it takes them up within 5 seconds.

    The keys are hashed with the service's secret: WEIGHBRIDGE_SECRET, or the file in the data directory.
    """


def _rate_limit(text: str) -> RateLimit:
    try:
        return RateLimit.parse(text)
    except ValueError:
        raise click.BadParameter(f"Give {FORM}.") from None


@keys.command(short_help="Make a key, and print it.")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice([scope.value for scope in KeyScope]),
    help="Again for each.",
)
@click.option("--project", default=DEFAULT_PROJECT, show_default=True, help="The project that it belongs to.")
@click.option("--expires", type=moment, metavar="DATE", help="A date or a time from which on it opens nothing.")
@click.option("--rate-limit", type=_rate_limit, metavar="LIMIT", help="As 600/minute.")
def create(
    name: str, scopes: tuple[str, ...], project: str, expires: datetime | None, rate_limit: RateLimit | None
) -> None:
    """Make a key called NAME and print it, this once. The first key needs the scope admin; from it on keys are on."""
    spec = KeySpec(project, name, scopes_of(scopes), expires, rate_limit)
    issued = _with_keys(lambda ring: ring.create(spec, by=_BY))
    click.echo(issued.text)
    note(f"key {issued.key.id} of the project {project}; it is not shown again")


@keys.command("list", short_help="List the keys.")
@click.option("--project", help="Those of one project.")
@click.option("--revoked", is_flag=True, help="Revoked ones too.")
def list_keys(project: str | None, *, revoked: bool) -> None:
    """List the keys in the order they were made; the keys themselves are not kept, only hashes of them."""

    async def every(ring: KeyRing) -> list[Key]:
        found: list[Key] = []
        cursor = None
        while True:
            page = await ring.store.keys(project, revoked=revoked, cursor=cursor, limit=1000)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found

    now = datetime.now(UTC)
    print_table(_COLUMNS, [_row(key, now) for key in _with_keys(every)])


@keys.command(short_help="Give a key a new text, and print it.")
@click.argument("key_id", metavar="ID")
@click.option(
    "--overlap",
    type=click.FloatRange(0, MAX_OVERLAP_SECONDS),
    default=0,
    metavar="SECONDS",
    help="How long the key as it was stays valid; by default not at all.",
)
def rotate(key_id: str, overlap: float) -> None:
    """Put a new key in the place of the one with the id ID, and print it, this once."""
    _require_id(key_id)
    issued = _with_keys(lambda ring: ring.rotate(key_id, overlap_seconds=overlap, by=_BY))
    click.echo(issued.text)


@keys.command(short_help="Revoke a key.")
@click.argument("key_id", metavar="ID")
@click.option("--force", is_flag=True, help="The last admin key too.")
def revoke(key_id: str, *, force: bool) -> None:
    """Revoke the key with the id ID, for good. A service that runs takes that up within 5 seconds.

    Without any key the service asks for none where only this machine can reach it, and refuses everything elsewhere.
    """
    _require_id(key_id)
    key = _with_keys(lambda ring: ring.revoke(key_id, force=force, by=_BY))
    click.echo(f"{key.id} is revoked")


@keys.command(short_help="Revoke all keys, after the secret was lost.")
@click.option("--yes", is_flag=True, required=True, help="Say that you mean it.")
def reset(*, yes: bool) -> None:
    """Revoke all keys and take the service's present secret for those to come. Restart the service afterwards."""
    del yes

    async def start_anew(ring: KeyRing) -> int:
        assert isinstance(ring.store, SqlKeys)  # noqa: S101 - narrows the type
        return await ring.store.start_anew(by=_BY, now=datetime.now(UTC))

    click.echo(f"{_with_keys(start_anew)} keys revoked")


def _require_id(key_id: str) -> None:
    if not is_key_id(key_id):
        raise BadInput("ID is that of a key, 16 digits from 0 to f: `weighbridge keys list` shows it.")


def _row(key: Key, now: datetime) -> list[str]:
    spec = key.spec
    state = "revoked" if key.revoked_at is not None else "expired" if key.expired(now) else "active"
    times = [_time(at) for at in (key.created_at, spec.expires_at, key.last_used_at)]
    return [key.id, spec.project, spec.name, " ".join(sorted(spec.scopes)), *times, state]


def _time(at: datetime | None) -> str:
    return "-" if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _with_keys(work: Callable[[KeyRing], Awaitable[T]]) -> T:
    from service.app.secret import service_secret  # noqa: PLC0415 - brings the whole service with it

    settings = environment().settings

    async def run() -> T:
        opened = sql_ledger(settings.database_url, settings.data_dir, lambda: datetime.now(UTC))
        try:
            await opened.open()
            return await work(KeyRing(SqlKeys(opened), service_secret(settings), lambda: datetime.now(UTC)))
        finally:
            await opened.close()

    try:
        return asyncio.run(run())
    except (InvalidKey, UnknownKey) as error:
        raise BadInput(str(error)) from None
    except DomainError as error:
        raise Refusal(str(error)) from None
