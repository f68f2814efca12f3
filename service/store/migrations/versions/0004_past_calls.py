"""What past calls tell: errors of estimated input, and lengths of output, counted by bucket and day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0002"

_TABLES = {
    "calibration": ("project", "provider", "model", "tokenizer"),
    "output_history": ("project", "provider", "model", "tag", "value"),
}


def upgrade() -> None:
    """Nothing is counted of calls that were settled before."""
    for name, texts in _TABLES.items():
        op.create_table(
            name,
            *[sa.Column(text, sa.Text(), primary_key=True) for text in texts],
            *[sa.Column(key, sa.BigInteger(), primary_key=True, autoincrement=False) for key in ("day", "bucket")],
            sa.Column("times", sa.BigInteger(), nullable=False),
            sqlite_with_rowid=False,  # kept in the order of the key, in which it is read
        )
        op.create_index(f"{name}_day", name, ["day"])


def downgrade() -> None:
    """What past calls tell is lost."""
    for name in _TABLES:
        op.drop_table(name)
