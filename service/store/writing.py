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
    """Add to the sums in ``table``, which are all its columns but the key: ``rows`` are in the order of the key."""
    names = [column.name for column in table.columns]
    if (
        connection.dialect.name == "postgresql" and len(rows) > 1
    ):  # a list for each column: many statements cost far more
        lists = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
        connection.execute(_add_lists(table), lists)
    else:
        connection.execute(_add_each(table), [dict(zip(names, row, strict=True)) for row in rows])


def key_names(table: Table) -> list[str]:
    """The columns of the table's key."""
    return [column.name for column in table.primary_key]


def _sum_names(table: Table) -> list[str]:
    return [column.name for column in table.columns if not column.primary_key]


@cache
def _add_each(table: Table) -> Insert:
    return upsert(table, add=_sum_names(table))


@cache
def _add_lists(table: Table) -> TextClause:
    kinds = ["TEXT" if isinstance(column.type, Text) else "BIGINT" for column in table.columns]
    lists = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in zip(table.columns.keys(), kinds, strict=True))
    sums = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in _sum_names(table))
    return text(
        f"INSERT INTO {table.name} ({', '.join(table.columns.keys())}) SELECT * FROM unnest({lists}) "  # noqa: S608
        f"ON CONFLICT ({', '.join(key_names(table))}) DO UPDATE SET {sums}"
    )
