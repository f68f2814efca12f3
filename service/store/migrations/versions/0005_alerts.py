"""Alerts: what is to be looked at, what was raised, and what is still to be delivered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def _texts(*names: str, primary_key: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), primary_key=primary_key, nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def upgrade() -> None:
    """Budgets that have reached a threshold already are looked at with their next call, or their next change."""
    op.create_table(
        "alert_marks",
        *_texts("kind", "subject", primary_key=True),
        sa.Column("period", sa.BigInteger(), primary_key=True, autoincrement=False),
        *_numbers("at"),
    )
    op.create_table(
        "alerts",
        *_texts("kind", "subject", primary_key=True),
        sa.Column("period", sa.BigInteger(), primary_key=True, autoincrement=False),
        *_numbers("at"),
    )
    op.create_table(
        "deliveries",
        *_texts("target", "id", primary_key=True),
        *_texts("kind"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        *_numbers("attempts", "due_at", "created_at"),
    )
    op.create_index("deliveries_due", "deliveries", ["target", "due_at"])


def downgrade() -> None:
    """What was not delivered yet is lost."""
    for name in ("deliveries", "alerts", "alert_marks"):
        op.drop_table(name)
