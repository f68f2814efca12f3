"""Preflight: whether a call may be made, why not, and what could be called in its place."""
