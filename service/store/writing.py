"""INSERT that takes the place of a row with the same key, in the words that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, LargeBinary, Table, Text, TextClause, text
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
    if _as_lists(connection, rows):
        lists = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
        connection.execute(_add_lists(table), lists)
    else:
        connection.execute(_add_each(table), [dict(zip(names, row, strict=True)) for row in rows])


def put_many(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``rows``, each in the place of the row with its key, if there is one."""
    if _as_lists(connection, rows):
        connection.execute(_put_lists(table), _by_column(table, rows))
    else:
        connection.execute(_put_each(table), list(rows))


def insert_many(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``rows``, of which none may be there."""
    if _as_lists(connection, rows):
        connection.execute(_insert_lists(table), _by_column(table, rows))
    else:
        connection.execute(table.insert(), list(rows))


def _as_lists(connection: Connection, rows: Sequence[object]) -> bool:
    """Whether to send a list for each column: on PostgreSQL a statement a row costs far more."""
    return connection.dialect.name == "postgresql" and len(rows) > 1


def _by_column(table: Table, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {column.name: [row[column.name] for row in rows] for column in table.columns}


def key_names(table: Table) -> list[str]:
    """The columns of the table's key."""
    return [column.name for column in table.primary_key]


def _sum_names(table: Table) -> list[str]:
    """The columns that are none of the key."""
    return [column.name for column in table.columns if not column.primary_key]


@cache
def _add_each(table: Table) -> Insert:
    return upsert(table, add=_sum_names(table))


@cache
def _put_each(table: Table) -> Insert:
    return upsert(table, add=())


@cache
def _insert_lists(table: Table) -> TextClause:
    return text(_insertion(table))


@cache
def _add_lists(table: Table) -> TextClause:
    return _upsertion(table, [f"{name} = {table.name}.{name} + excluded.{name}" for name in _sum_names(table)])


@cache
def _put_lists(table: Table) -> TextClause:
    return _upsertion(table, [f"{name} = excluded.{name}" for name in _sum_names(table)])


def _upsertion(table: Table, changes: Sequence[str]) -> TextClause:
    key = ", ".join(key_names(table))
    return text(f"{_insertion(table)} ON CONFLICT ({key}) DO UPDATE SET {', '.join(changes)}")


def _insertion(table: Table) -> str:
    """The statement that takes a list for each column."""
    names = [column.name for column in table.columns]
    columns = ", ".join(f'"{name}"' for name in names)
    lists = ", ".join(f"CAST(:{name} AS {_kind(table, name)}[])" for name in names)
    return f"INSERT INTO {table.name} ({columns}) SELECT * FROM unnest({lists})"  # noqa: S608 - names of our own


def _kind(table: Table, name: str) -> str:
    match table.columns[name].type:
        case Text():
            return "TEXT"
        case LargeBinary():
            return "BYTEA"
        case _:
            return "BIGINT"
