"""The ledger: budgets, holds, entries, rollups, answers, refusals, price snapshots."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_SUMS = (
    "nano",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
_ESTIMATES = ("estimated_input_tokens", "estimated_output_tokens", "estimated_nano")


def _key(*names: str, kind: type[sa.Text] | type[sa.BigInteger] = sa.Text) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind(), primary_key=True, autoincrement=False) for name in names]


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _numbers(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.BigInteger(), nullable=nullable) for name in names]


def upgrade() -> None:
    """From an empty database."""
    _budgets()
    _movements()
    _reports()
    op.create_table(
        "price_snapshots",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        *_texts("sha256", "url"),
        *_texts("etag", nullable=True),
        *_numbers("fetched_at", "checked_at"),
    )
    op.create_table("leases", *_key("name"), *_texts("holder"), *_numbers("until"))


def _budgets() -> None:
    op.create_table(
        "budgets",
        sa.Column("id", _ID, primary_key=True),
        *_texts("project", "name", "scope_kind", "selector", "period", "timezone"),
        *_texts("scope_value", "scope_key", nullable=True),
        *_numbers("limit_nano", "limit_tokens", nullable=True),
        *_texts("warn_at", nullable=True),
        sa.Column("export", sa.Boolean(), nullable=False),
        *_numbers("version", "created_at", "changed_at"),
        *_numbers("deleted_at", nullable=True),
        sqlite_autoincrement=True,
    )
    alive = sa.text("deleted_at IS NULL")
    op.create_index(
        "budgets_name", "budgets", ["project", "name"], unique=True, sqlite_where=alive, postgresql_where=alive
    )
    op.create_index("budgets_selector", "budgets", ["selector"], sqlite_where=alive, postgresql_where=alive)
    op.create_table(
        "budget_versions",
        *_key("budget_id", "version", kind=sa.BigInteger),
        *_numbers("limit_nano", "limit_tokens", nullable=True),
        *_texts("warn_at", nullable=True),
        sa.Column("export", sa.Boolean(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        *_numbers("at"),
        *_texts("by"),
    )
    sums = ("spent_nano", "held_nano", "spent_tokens", "held_tokens", "open_holds")
    op.create_table(
        "budget_periods",
        *_key("budget_id", "start", kind=sa.BigInteger),
        *_numbers(*sums),
        *[sa.CheckConstraint(f"{name} >= 0", name=f"{name}_not_negative") for name in sums],
    )


def _movements() -> None:
    op.create_table(
        "holds",
        *_key("id"),
        *_texts("project", "key_id", "provider", "model", "tokenizer", "tags", "state"),
        *_numbers("nano"),
        *_numbers("tokens", nullable=True),
        *_numbers("at", "expires_at"),
        *_texts("price_revision", "charges"),
        *_numbers(*_ESTIMATES, nullable=True),
        *_texts("entry_id", "digest", nullable=True),
    )
    still = sa.text("state = 'held'")
    op.create_index("holds_open", "holds", ["expires_at"], sqlite_where=still, postgresql_where=still)
    op.create_table(
        "entries",
        *_key("id"),
        *_texts("project", "key_id", "provider", "model", "tokenizer", "tags"),
        *_numbers("at", "booked_at", *_SUMS),
        *_texts("flags", "price_revision"),
        *_numbers(*_ESTIMATES, nullable=True),
        *_texts("hold_id", nullable=True),
        *_numbers("held_nano", nullable=True),
    )
    op.create_index("entries_project", "entries", ["project", "id"])
    op.create_index("entries_model", "entries", ["model", "id"])
    op.create_index("entries_at", "entries", ["at"])
    op.create_table(
        "answers",
        *_key("project", "route", "key"),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        *_numbers("at"),
    )
    op.create_index("answers_at", "answers", ["at"])


def _reports() -> None:
    op.create_table(
        "rollups",
        *_key("project"),
        *_key("start", kind=sa.BigInteger),
        *_key("provider", "model", "key_id", "tokenizer"),
        *_numbers(*_SUMS, "entries", "flagged"),
        sqlite_with_rowid=False,  # kept in the order of the key, in which a report reads it
    )
    op.create_index("rollups_start", "rollups", ["start"])
    op.create_table(
        "tag_rollups",
        *_key("project", "tag"),
        *_key("start", kind=sa.BigInteger),
        *_key("value"),
        *_numbers(*_SUMS, "entries", "flagged"),
        sqlite_with_rowid=False,
    )
    op.create_index("tag_rollups_start", "tag_rollups", ["tag", "start"])
    op.create_table(
        "refusals",
        *_key("minute", kind=sa.BigInteger),
        *_key("project", "budget", "model", "reason"),
        *_numbers("times"),
    )
    op.create_table("marks", *_key("name"), *_numbers("at"))


def downgrade() -> None:
    """Back to an empty database: everything in it is lost."""
    names = (
        "leases price_snapshots marks refusals tag_rollups rollups answers entries holds budget_periods "
        "budget_versions budgets"
    )
    for name in names.split():
        op.drop_table(name)
