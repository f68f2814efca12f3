"""Budgets as clients write and read them."""
