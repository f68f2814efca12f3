"""The tables, as SQLAlchemy Core sees them; the migrations make them.

Money is nano-dollars and times are microseconds since 1970 (UTC), both as 64-bit integers; in rollups, times are
seconds. A column that is part of a key holds an empty string where there is nothing to say.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()
_ID = BigInteger().with_variant(Integer, "sqlite")


def _numbers(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger, nullable=False) for name in names]


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


BUDGETS = Table(
    "budgets",
    METADATA,
    Column("id", _ID, primary_key=True),
    *_texts("project", "name", "scope_kind", "selector", "period", "timezone"),
    Column("scope_value", Text),
    Column("scope_key", Text),
    Column("limit_nano", BigInteger),
    Column("limit_tokens", BigInteger),
    Column("warn_at", Text),
    Column("export", Boolean, nullable=False),
    *_numbers("version", "created_at", "changed_at"),
    Column("deleted_at", BigInteger),
)
"""``selector`` is the scope as one string, by which a call finds its budgets. A deleted budget keeps its row."""

BUDGET_VERSIONS = Table(
    "budget_versions",
    METADATA,
    Column("budget_id", BigInteger, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("limit_nano", BigInteger),
    Column("limit_tokens", BigInteger),
    Column("warn_at", Text),
    Column("export", Boolean, nullable=False),
    Column("deleted", Boolean, nullable=False),
    *_numbers("at"),
    *_texts("by"),
)

BUDGET_PERIODS = Table(
    "budget_periods",
    METADATA,
    Column("budget_id", BigInteger, primary_key=True),
    Column("start", BigInteger, primary_key=True),
    *_numbers("spent_nano", "held_nano", "spent_tokens", "held_tokens", "open_holds"),
)
"""What is booked and held of a budget from ``start`` on. Locked by the budget's own row."""

HOLDS = Table(
    "holds",
    METADATA,
    Column("id", Text, primary_key=True),
    *_texts("project", "key_id", "provider", "model", "tokenizer", "tags", "state"),
    *_numbers("nano"),
    Column("tokens", BigInteger),
    *_numbers("at", "expires_at"),
    *_texts("price_revision", "charges"),
    Column("estimated_input_tokens", BigInteger),
    Column("estimated_output_tokens", BigInteger),
    Column("estimated_nano", BigInteger),
    Column("entry_id", Text),
    Column("digest", Text),
)
"""``charges`` is JSON: ``[[budget id, start of its period], ...]``. ``digest`` is that of the settlement."""

MEASURES = ("nano", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
"""The columns of an entry that a rollup adds up."""

ENTRIES = Table(
    "entries",
    METADATA,
    Column("id", Text, primary_key=True),
    *_texts("project", "key_id", "provider", "model", "tokenizer", "tags"),
    *_numbers("at", "booked_at", *MEASURES),
    *_texts("flags", "price_revision"),
    Column("estimated_input_tokens", BigInteger),
    Column("estimated_output_tokens", BigInteger),
    Column("estimated_nano", BigInteger),
    Column("hold_id", Text),
    Column("held_nano", BigInteger),
)
"""Written once, never changed. An id begins with the millisecond of the booking, so ids are in order of time."""


def _sums(name: str, *keys: str) -> Table:
    kinds = {"start": BigInteger}
    columns = [Column(key, kinds.get(key, Text), primary_key=True) for key in keys]
    return Table(name, METADATA, *columns, *_numbers(*MEASURES, "entries", "flagged"))


_WHOSE = ("project", "start", "provider", "model", "key_id", "tokenizer")
_TAGGED = ("project", "tag", "start", "value")

ROLLUPS, ROLLUP_DAYS = _sums("rollups", *_WHOSE), _sums("rollup_days", *_WHOSE)
"""Sums of entries by the quarter of an hour of their request, as some time zones begin their day at a quarter; and by
the day of UTC, from which whole days are read."""

TAG_ROLLUPS, TAG_ROLLUP_DAYS = _sums("tag_rollups", *_TAGGED), _sums("tag_rollup_days", *_TAGGED)

ANSWERS = Table(
    "answers",
    METADATA,
    *[Column(name, Text, primary_key=True) for name in ("project", "route", "key")],
    Column("fingerprint", LargeBinary, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    *_numbers("at"),
)
"""What requests with an Idempotency-Key were answered."""

REFUSALS = Table(
    "refusals",
    METADATA,
    Column("minute", BigInteger, primary_key=True),
    *[Column(name, Text, primary_key=True) for name in ("project", "budget", "model", "reason")],
    *_numbers("times"),
)

MARKS = Table("marks", METADATA, Column("name", Text, primary_key=True), *_numbers("at"))
"""Instants to remember: ``pruned_before``."""

PRICE_SNAPSHOTS = Table(
    "price_snapshots",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    *_texts("sha256", "url"),
    Column("etag", Text),
    *_numbers("fetched_at", "checked_at"),
)
"""One row: the last good price list."""

LEASES = Table("leases", METADATA, Column("name", Text, primary_key=True), *_texts("holder"), *_numbers("until"))

CALIBRATION = Table(
    "calibration",
    METADATA,
    *[Column(name, Text, primary_key=True) for name in ("project", "provider", "model", "tokenizer")],
    *[Column(name, BigInteger, primary_key=True) for name in ("day", "bucket")],
    *_numbers("times"),
)
"""Errors of estimated input tokens by bucket and day (since 1970, UTC); a ``project`` of ``""`` is all together."""

OUTPUT_HISTORY = Table(
    "output_history",
    METADATA,
    *[Column(name, Text, primary_key=True) for name in ("project", "provider", "model", "tag", "value")],
    *[Column(name, BigInteger, primary_key=True) for name in ("day", "bucket")],
    *_numbers("times"),
)
"""Output tokens by bucket and day; a ``tag`` of ``""`` is every call of the model."""

KEYS = Table(
    "keys",
    METADATA,
    Column("id", Text, primary_key=True),
    *_texts("project", "name", "scopes", "origin"),
    Column("rate_limit", Text),
    Column("digest", LargeBinary, nullable=False),
    Column("previous", LargeBinary),
    Column("previous_until", BigInteger),
    *_numbers("created_at"),
    *_texts("created_by"),
    Column("expires_at", BigInteger),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("revoked_by", Text),
)
"""``digest`` is a keyed hash of the key's text, ``previous`` that of the one before; ``scopes`` have blanks between."""

KEY_CHANGES = Table(
    "key_changes",
    METADATA,
    Column("id", _ID, primary_key=True),
    *_texts("key_id", "what"),
    *_numbers("at"),
    *_texts("by"),
)
"""What was done to keys. The last id is the version of all keys: changes are made one after the other."""

FACTS = Table("facts", METADATA, Column("name", Text, primary_key=True), Column("value", LargeBinary, nullable=False))
"""What the database is to remember of the service: ``secret``, the fingerprint of the secret it was written with."""


def _keyed(name: str) -> Table:
    return Table(
        name,
        METADATA,
        *[Column(key, Text, primary_key=True) for key in ("kind", "subject")],
        Column("period", BigInteger, primary_key=True),
        *_numbers("at"),
    )


ALERT_MARKS = _keyed("alert_marks")
"""What is to be looked at for alerts: written in the transaction in which a threshold is crossed."""

ALERTS = _keyed("alerts")
"""What was raised, and is not raised again; a row is gone once its cause is."""

DELIVERIES = Table(
    "deliveries",
    METADATA,
    *[Column(name, Text, primary_key=True) for name in ("target", "id")],
    *_texts("kind"),
    Column("body", LargeBinary, nullable=False),
    *_numbers("attempts", "due_at", "created_at"),
)
"""What is still to be delivered; while one is being sent it is due a minute later."""
