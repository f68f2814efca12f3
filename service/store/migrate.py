"""Brings the tables to the form that this program knows: one numbered step a file, all or none of them."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from service.domain.spending.errors import LedgerNotOpened

_STEPS = Path(__file__).parent / "migrations"
_LOCK = 0x5765696768  # a number of our own, for PostgreSQL's advisory lock


def upgrade(connection: Connection) -> None:
    """Run the steps that are missing, in the transaction of ``connection``; processes that start together wait.

    Raises ``LedgerNotOpened`` where the database is newer than this program.
    """
    if connection.dialect.name == "postgresql":  # SQLite's transaction is exclusive anyway
        connection.execute(text("SET LOCAL lock_timeout = '60s'"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = ScriptDirectory.from_config(config)
    present = MigrationContext.configure(connection).get_current_revision()
    if present == known.get_current_head():
        return
    if present is not None and present not in {step.revision for step in known.walk_revisions()}:
        raise LedgerNotOpened(
            f"The ledger's database has the schema {present}, which is newer than this program's "
            f"({known.get_current_head()}). Start the newer version, or restore a copy of the older database."
        )
    command.upgrade(config, "head")
