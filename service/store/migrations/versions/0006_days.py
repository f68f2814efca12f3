"""Sums of spend by the day of UTC, made of those by the quarter of an hour."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_SUMS = (
    *("nano", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
    *("entries", "flagged"),
)
_TABLES = {
    "rollup_days": ("rollups", ("project", "start", "provider", "model", "key_id", "tokenizer")),
    "tag_rollup_days": ("tag_rollups", ("project", "tag", "start", "value")),
}


def upgrade() -> None:
    """What was spent before is added up too."""
    for name, (quarters, keys) in _TABLES.items():
        op.create_table(
            name,
            *[
                sa.Column(key, sa.BigInteger() if key == "start" else sa.Text(), primary_key=True, autoincrement=False)
                for key in keys
            ],
            *[sa.Column(column, sa.BigInteger(), nullable=False) for column in _SUMS],
            sqlite_with_rowid=False,
        )
        source = sa.table(quarters, *[sa.column(column) for column in (*keys, *_SUMS)])
        day: sa.ColumnElement[int] = sa.literal_column("start - start % 86400")
        by = [day if key == "start" else source.c[key] for key in keys]
        summed = sa.select(*by, *[sa.func.sum(source.c[column]) for column in _SUMS]).group_by(*by)
        target = sa.table(name, *[sa.column(column) for column in (*keys, *_SUMS)])
        op.execute(target.insert().from_select([*keys, *_SUMS], summed))


def downgrade() -> None:
    """They can be made again."""
    for name in _TABLES:
        op.drop_table(name)
