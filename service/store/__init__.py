"""The ledger's store: budgets, holds, entries and rollups in SQLite or PostgreSQL, behind the domain's port."""
