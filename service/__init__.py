"""Weighbridge, the service: a pure domain, and the web, command-line and data adapters around it."""

__version__ = "0.1.0"
