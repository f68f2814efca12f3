"""Metrics of the ledger: what this process booked and refused, how its calls went, and budgets that are exported.

Money is integer nano-dollars. Labels come from closed sets: a model is one of the catalog or ``other``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from service.domain.spending.budgets import Balance
from service.domain.spending.ledger import Entry, Flag, LedgerStatus

MOST_BUDGETS = 200
"""Budgets that are shown by name: those with ``export`` that were made first."""

OTHER = "other"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_MOST_REASONS = 64


class LedgerMetrics:
    """Every metric of the ledger, on ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"weighbridge_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"weighbridge_{name}", text, labels, registry=registry)

        self._spend = counter(
            "spend_nanodollars", "Cost booked by this process, in billionths of a dollar.", "model", "provider"
        )
        self._entries = counter(
            "entries_booked", "Entries booked by this process, by flag; `none` for those without.", "flag"
        )
        for flag in ("none", *Flag):
            self._entries.labels(str(flag))
        self._refusals = counter("refusals", "Reservations and calls refused, by the refusal's code.", "reason")
        self._reasons: set[str] = set()
        self._seconds = Histogram(
            "weighbridge_ledger_operation_duration_seconds",
            "Time that calls of the ledger took, the wait for their turn and the commit included.",
            ["operation"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._failures = counter("ledger_failures", "Calls of the ledger that found it down.", "operation")
        self._up = gauge("ledger_up", "Whether budgets and spend can be used, as /readyz says.")
        self._open_holds = gauge("ledger_open_holds", "Open reservations, as last read.")
        self._overdue = gauge("ledger_overdue_seconds", "By how much the oldest open reservation is past its time.")
        budget = ("project", "budget")
        self._limit = gauge("budget_limit_nanodollars", "Limit of an exported budget that has one.", *budget)
        self._spent = gauge("budget_spent_nanodollars", "Spent of an exported budget in its present period.", *budget)
        self._held = gauge("budget_held_nanodollars", "Held of an exported budget in its present period.", *budget)

    def booked(self, entry: Entry, model: str, provider: str) -> None:
        """Record an entry; ``model`` and ``provider`` are those of the catalog, or ``other``."""
        self._spend.labels(model, provider).inc(entry.nano)
        for flag in entry.flags or ("none",):
            self._entries.labels(str(flag)).inc()

    def refused(self, reason: str) -> None:
        """Record a refusal; ``reason`` is one of the stable codes."""
        if reason not in self._reasons:
            if len(self._reasons) >= _MOST_REASONS:
                reason = OTHER
            self._reasons.add(reason)
        self._refusals.labels(reason).inc()

    def took(self, operation: str, seconds: float) -> None:
        """Record a call of the ledger, however it ended."""
        self._seconds.labels(operation).observe(seconds)

    def failed(self, operation: str) -> None:
        """Record a call that found the ledger down."""
        self._failures.labels(operation).inc()

    def watch(self, up: Callable[[], bool]) -> None:
        """Ask at each scrape whether the ledger can be used."""
        self._up.set_function(lambda: float(up()))

    def stands(self, status: LedgerStatus, exported: Sequence[Balance]) -> None:
        """Show how the ledger stands, and the exported budgets in place of those before; it stays while it is down."""
        self._open_holds.set(status.open_holds)
        self._overdue.set(status.overdue_seconds)
        for metric in (self._limit, self._spent, self._held):
            metric.clear()
        for balance in exported[:MOST_BUDGETS]:
            spec, totals = balance.budget.spec, balance.totals
            if spec.terms.limit_nano is not None:
                self._limit.labels(spec.project, spec.name).set(spec.terms.limit_nano)
            self._spent.labels(spec.project, spec.name).set(totals.spent_nano)
            self._held.labels(spec.project, spec.name).set(totals.held_nano)
