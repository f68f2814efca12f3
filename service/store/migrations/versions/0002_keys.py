"""Keys, their changes, and the fingerprint of the secret that they are hashed with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _numbers(*names: str, nullable: bool = False) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=nullable) for name in names]


def upgrade() -> None:
    """From a ledger without keys."""
    op.create_table(
        "keys",
        sa.Column("id", sa.Text(), primary_key=True, autoincrement=False),
        *_texts("project", "name", "scopes", "origin"),
        *_texts("rate_limit", nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("previous", sa.LargeBinary(), nullable=True),
        *_numbers("previous_until", nullable=True),
        *_numbers("created_at"),
        *_texts("created_by"),
        *_numbers("expires_at", "last_used_at", "revoked_at", nullable=True),
        *_texts("revoked_by", nullable=True),
    )
    op.create_index("keys_made", "keys", ["created_at", "id"])
    op.create_table(
        "key_changes",
        sa.Column("id", _ID, primary_key=True),
        *_texts("key_id", "what"),
        *_numbers("at"),
        *_texts("by"),
        sqlite_autoincrement=True,
    )
    op.create_index("key_changes_key", "key_changes", ["key_id", "id"])
    op.create_table(
        "facts",
        sa.Column("name", sa.Text(), primary_key=True, autoincrement=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
    )


def downgrade() -> None:
    """Back to a ledger without keys: they are lost, and the service asks for none."""
    for name in ("facts", "key_changes", "keys"):
        op.drop_table(name)
