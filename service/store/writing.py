"""INSERT that takes the place of a row with the same key, in the words that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import Insert


def upsert(table: Table, add: Collection[str]) -> Insert:
    """A row's values replace those of the row with its key; the columns in ``add`` are added to what is there."""
    statement = postgresql.insert(table)
    new = statement.excluded
    keys = [column.name for column in table.primary_key]
    values = {
        column.name: table.c[column.name] + new[column.name] if column.name in add else new[column.name]
        for column in table.c
        if column.name not in keys
    }
    return statement.on_conflict_do_update(index_elements=keys, set_=values)
