"""What past calls tell, in the ledger's database: counted with each entry, read by the day, forgotten after a month."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Connection, Table, delete, func, select, tuple_

from service.domain.past.calibration import Calibration, calibration_of, error_bucket
from service.domain.past.calls import DAYS, CountedBy
from service.domain.past.output import ENOUGH, OutputHistory, history_of, output_bucket
from service.domain.spending.budgets import is_label
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.domain.spending.ledger import Entry
from service.store.rows import micros
from service.store.tables import CALIBRATION, OUTPUT_HISTORY
from service.store.writing import add_many

T = TypeVar("T")

ALL = ""
"""The project, and the tag, that stands for all of them."""

_DAY = 86_400 * 1_000_000
_CHUNK = 5_000
_KEPT_SECONDS = 10.0
_MOST_KEPT = 1024


def day_of(at: datetime) -> int:
    """Days since 1970, UTC."""
    return micros(at) // _DAY


def count_entries(connection: Connection, entries: Iterable[Entry]) -> None:
    """Add to the counts what ``entries`` tell, by key in order."""
    errors: Counter[tuple[Any, ...]] = Counter()
    outputs: Counter[tuple[Any, ...]] = Counter()
    for entry in entries:
        spender, day = entry.spender, day_of(entry.booked_at)
        if not spender.model:
            continue
        model = (spender.provider or "", spender.model)
        bucket = error_bucket(entry)
        if bucket is not None:
            for project in (ALL, spender.project):
                errors[project, *model, spender.tokenizer or "", day, bucket] += 1
        bucket = output_bucket(entry)
        if bucket is not None:
            for tag, value in ((ALL, ""), *spender.tags.items()):
                outputs[spender.project, *model, tag, value, day, bucket] += 1
    for table, counts in ((CALIBRATION, errors), (OUTPUT_HISTORY, outputs)):
        if counts:
            add_many(connection, table, [(*key, times) for key, times in sorted(counts.items())])


def forget_some(connection: Connection, now: datetime) -> int:
    """Remove some counts of days that tell nothing any more; how many: with 0 all are gone."""
    return sum(_forget(connection, table, day_of(now) - DAYS) for table in (CALIBRATION, OUTPUT_HISTORY))


def _forget(connection: Connection, table: Table, day: int) -> int:
    key = tuple_(*table.primary_key)
    old = select(*table.primary_key).where(table.c.day < day).limit(_CHUNK)
    return connection.execute(delete(table).where(key.in_(old))).rowcount


def read_calibrations(connection: Connection, project: str, since: int) -> dict[CountedBy, Calibration]:
    """The errors of a project's calls from the day ``since`` on."""
    columns = CALIBRATION.c
    keys = (columns.provider, columns.model, columns.tokenizer, columns.bucket)
    query = select(*keys, func.sum(columns.times).label("times")).group_by(*keys)
    times: dict[CountedBy, dict[int, int]] = defaultdict(dict)
    for row in connection.execute(query.where(columns.project == project, columns.day >= since)):
        times[CountedBy(row.provider, row.model, row.tokenizer)][row.bucket] = int(row.times)
    found = {counted_by: calibration_of(buckets) for counted_by, buckets in times.items()}
    return {counted_by: calibration for counted_by, calibration in found.items() if calibration is not None}


def _read_calibration(connection: Connection, project: str, counted_by: CountedBy, since: int) -> Calibration | None:
    key = {"project": project, "provider": counted_by.provider, "model": counted_by.model}
    return calibration_of(_times(connection, CALIBRATION, key | {"tokenizer": counted_by.tokenizer}, since))


def _read_output(
    connection: Connection, project: str, model: tuple[str, str], tags: Iterable[tuple[str, str]], since: int
) -> OutputHistory | None:
    key = {"project": project, "provider": model[0], "model": model[1]}
    tagged = [_times(connection, OUTPUT_HISTORY, key | {"tag": tag, "value": value}, since) for tag, value in tags]
    enough = [times for times in tagged if sum(times.values()) >= ENOUGH]
    if enough:
        return history_of(min(enough, key=lambda times: sum(times.values())))
    return history_of(_times(connection, OUTPUT_HISTORY, key | {"tag": ALL, "value": ""}, since))


def _times(connection: Connection, table: Table, key: Mapping[str, str], since: int) -> dict[int, int]:
    columns = table.c
    query = select(columns.bucket, func.sum(columns.times).label("times")).group_by(columns.bucket)
    query = query.where(*[columns[name] == value for name, value in key.items()], columns.day >= since)
    return {row.bucket: int(row.times) for row in connection.execute(query)}


class Read(Protocol):
    """Carries out what only reads, in a thread of the ledger's. Raises ``LedgerUnavailable``."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...


@dataclass(slots=True)
class _Kept(Generic[T]):
    value: T
    until: float


class SqlPastCalls:
    """The port ``PastCalls`` over the ledger's database; answers are kept in memory for ten seconds.

    So is that the database is down: only the first of many calls then waits to find out.
    """

    def __init__(
        self, read: Read, clock: Callable[[], datetime], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._monotonic = monotonic
        self._kept: OrderedDict[tuple[object, ...], _Kept[object]] = OrderedDict()
        self._down: _Kept[str] | None = None

    async def calibration(self, project: str, counted_by: CountedBy) -> Calibration | None:
        since = self._since()
        key = ("calibration", project, counted_by)
        return await self._once(key, lambda c: _read_calibration(c, project, counted_by, since))

    async def calibrations(self, project: str | None) -> Mapping[CountedBy, Calibration]:
        since = self._since()
        return await self._once(("all", project), lambda c: read_calibrations(c, project or ALL, since))

    async def output(self, project: str, provider: str, model: str, tags: Mapping[str, str]) -> OutputHistory | None:
        since = self._since()
        pairs = tuple(pair for pair in sorted(tags.items()) if all(map(is_label, pair)))  # no call has any other
        key = ("output", project, provider, model, pairs)
        return await self._once(key, lambda c: _read_output(c, project, (provider, model), pairs, since))

    def _since(self) -> int:
        return day_of(self._clock()) - DAYS

    async def _once(self, key: tuple[object, ...], work: Callable[[Connection], T]) -> T:
        """The result of ``work``, or that of some seconds ago; while it is read anew others get the one before."""
        kept, now = self._kept.get(key), self._monotonic()
        if kept is not None and now < kept.until:
            return kept.value  # type: ignore[return-value]  # it was put there under this key
        if self._down is not None and now < self._down.until:
            raise LedgerUnavailable(self._down.value)
        if kept is not None:
            kept.until = now + _KEPT_SECONDS
        try:
            value = await self._read(work)
        except (LedgerUnavailable, LedgerNotOpened) as error:
            problem = error.problem if isinstance(error, LedgerUnavailable) else "it cannot be opened"
            self._down = _Kept(problem, self._monotonic() + _KEPT_SECONDS)
            self._kept.pop(key, None)
            raise LedgerUnavailable(problem) from None
        self._kept[key] = _Kept(value, self._monotonic() + _KEPT_SECONDS)
        self._kept.move_to_end(key)
        self._down = None
        self._forget_oldest()
        return value

    def _forget_oldest(self) -> None:
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
