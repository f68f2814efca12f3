"""INSERT that takes the place of a row with the same key, in the words that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

from sqlalchemy import Connection, Table, Text, TextClause, text
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


def add_many(connection: Connection, table: Table, rows: Sequence[tuple[str | int, ...]]) -> None:
    """Add to the counts in ``table``'s last column: ``rows`` hold its key and a number, in the order of the key."""
    names = [column.name for column in table.columns]
    if connection.dialect.name == "postgresql":  # one statement with a list for each column: many cost far more there
        lists = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
        connection.execute(_add_lists(table), lists)
    else:
        connection.execute(_add_each(table), [dict(zip(names, row, strict=True)) for row in rows])


@cache
def _add_each(table: Table) -> Insert:
    return upsert(table, add=(table.columns.keys()[-1],))


@cache
def _add_lists(table: Table) -> TextClause:
    names = table.columns.keys()
    kinds = ["TEXT" if isinstance(column.type, Text) else "BIGINT" for column in table.columns]
    lists = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in zip(names, kinds, strict=True))
    keys, last = ", ".join(names[:-1]), names[-1]
    return text(
        f"INSERT INTO {table.name} ({keys}, {last}) SELECT * FROM unnest({lists}) "  # noqa: S608 - our own names
        f"ON CONFLICT ({keys}) DO UPDATE SET {last} = {table.name}.{last} + excluded.{last}"
    )
