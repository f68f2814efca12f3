"""Alembic's entry: the steps run on the connection, and in the transaction, that the program hands over."""

from __future__ import annotations

from alembic import context

from service.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
