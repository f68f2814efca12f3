"""Budgets, reservations and what was spent: the rules, and the port of the ledger."""
