"""Prometheus metrics on a registry of their own. Labels come from closed sets alone: never a name a caller made up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from functools import lru_cache
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from service.domain.past.calibration import Calibration
from service.ledger_metrics import LedgerMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_RATIO = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.25, 1.5, 2, 3, 4)

_MOST_WAITING = 256
T = TypeVar("T")


class Metrics:
    """Every metric of one process, registered at once; ``render`` is the text that ``/metrics`` answers."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library declares no types for it
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._answered: deque[tuple[str, str, int, float]] = deque()
        self._counted: deque[tuple[str, str, int, int]] = deque()
        self._http()
        self._counting()
        self._prices()
        self.ledger = LedgerMetrics(self.registry)
        self.rate_limit_fallbacks = Counter(
            "weighbridge_rate_limit_fallbacks",
            "Requests counted in this process alone, as Redis did not answer.",
            registry=self.registry,
        )

    def _http(self) -> None:
        self._requests = Counter(
            "weighbridge_http_requests",
            "Requests answered, by route template, method and status.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "weighbridge_http_request_duration_seconds",
            "Time from the first byte of a request to the last byte of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._errors = Counter("weighbridge_errors", "Problems answered, by code.", ["code"], registry=self.registry)

    def _counting(self) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"weighbridge_{name}", text, labels, registry=self.registry)

        self._tokens = counter("tokens_counted", "Tokens counted, by tokenizer and model.", "tokenizer", "model")
        self._characters = counter("characters_counted", "Characters (code points) counted.", "tokenizer", "model")
        self._ratio = Histogram(
            "weighbridge_tokens_per_character",
            "Tokens per character (code point) of each counted text.",
            ["tokenizer"],
            buckets=_RATIO,
            registry=self.registry,
        )
        self.unknown_models = counter("unknown_models", "Requests for a model that no catalog row names.")
        self._fallbacks = counter(
            "engine_fallbacks", "Texts that the first engine could not take.", "tokenizer", "engine"
        )
        self._pool_depth = Gauge(
            "weighbridge_pool_depth",
            "Large requests in the counting pool, waiting and running.",
            registry=self.registry,
        )
        self._vocabularies = Gauge(
            "weighbridge_vocabulary_info",
            "Vocabularies that are loaded, and the engine that serves each.",
            ["tokenizer", "family", "engine"],
            registry=self.registry,
        )

        self._webhooks = counter("webhooks", "Attempts at delivering alerts, by kind and outcome.", "type", "outcome")
        self._remote = counter("remote_counts", "Counts asked of vendors, by outcome.", "provider", "outcome")
        self._remote_seconds = Histogram(
            "weighbridge_remote_count_duration_seconds",
            "Time that a vendor's count took, with every attempt.",
            ["provider"],
            buckets=_SECONDS,
            registry=self.registry,
        )

    def _prices(self) -> None:
        self.unknown_prices = Counter(
            "weighbridge_unknown_prices", "Costs asked for whose price is unknown.", registry=self.registry
        )
        self._estimated = Counter(
            "weighbridge_estimated_cost_nanodollars",
            "Expected cost of what was estimated, in billionths of a dollar: money is an integer.",
            ["model"],
            registry=self.registry,
        )
        self._estimate_errors = Gauge(
            "weighbridge_estimate_error_ratio",
            "(actual - estimated) / estimated input tokens of the calls of 30 days, of models with enough.",
            ["provider", "model", "quantile"],
            registry=self.registry,
        )
        self._price_age = Gauge(
            "weighbridge_price_book_age_seconds", "Time since the price data were last checked.", registry=self.registry
        )
        self._price_book = Gauge(
            "weighbridge_price_book_info", "The price data in force.", ["source", "revision"], registry=self.registry
        )
        self._refreshes = Counter(
            "weighbridge_price_refresh",
            "Price refreshes, by outcome and reason.",
            ["outcome", "reason"],
            registry=self.registry,
        )

    def webhook(self, kind: str, outcome: str) -> None:
        """Record an attempt at delivering an alert, or that it is given up."""
        self._webhooks.labels(kind, outcome).inc()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Record one answered request; ``route`` is a template, never a raw path."""
        self._answered.append((route, method, status, seconds))
        if len(self._answered) >= _MOST_WAITING:
            self._fold()

    def counted(self, tokenizer: str, model: str, tokens: int, characters: int) -> None:
        """Record one counted text; ``model`` is a catalog id, or ``""`` where a tokenizer was named."""
        self._counted.append((tokenizer, model, tokens, characters))
        if len(self._counted) >= _MOST_WAITING:
            self._fold()

    def error(self, code: str) -> None:
        """Record one problem; ``code`` is one of the stable codes."""
        self._errors.labels(code).inc()

    def fallback(self, tokenizer: str, engine: str) -> None:
        """Record that ``engine`` took over a text, or a whole vocabulary."""
        self._fallbacks.labels(tokenizer, engine).inc()

    def remote_counted(self, provider: str, outcome: str, seconds: float) -> None:
        """Record a vendor's count: ``counted``, ``remembered``, or the word for why there was none."""
        self._remote.labels(provider, outcome).inc()
        if outcome != "remembered":
            self._remote_seconds.labels(provider).observe(seconds)

    def loaded(self, tokenizer: str, family: str, engine: str) -> None:
        """Record a vocabulary that serves."""
        self._vocabularies.labels(tokenizer, family, engine).set(1)

    def estimated(self, model: str, nanodollars: int) -> None:
        """Record an expected cost; ``model`` is a catalog id."""
        self._estimated.labels(model).inc(nanodollars)

    def estimate_errors(self, found: Mapping[tuple[str, str], Calibration]) -> None:
        """Show how far off estimates were, by the provider and the id of models of the catalog, in place of before."""
        self._estimate_errors.clear()
        for names, calibration in found.items():
            for quantile, error in zip(("0.05", "0.5", "0.95"), astuple(calibration)[1:], strict=True):
                self._estimate_errors.labels(*names, quantile).set(error)

    def refreshed(self, outcome: str, reason: str) -> None:
        """Record a price refresh: ``updated``, ``unchanged``, ``rejected`` or ``failed``, and the word for why."""
        self._refreshes.labels(outcome, reason).inc()

    def price_book(self, source: str, revision: str, age: Callable[[], float]) -> None:
        """Show the price data in force in place of those before, and read their age at each scrape."""
        self._price_book.clear()
        self._price_book.labels(source, revision).set(1)
        self._price_age.set_function(age)

    def watch_pool(self, depth: Callable[[], float]) -> None:
        """Read the pool's depth at each scrape."""
        self._pool_depth.set_function(depth)

    def render(self) -> bytes:
        """All metrics in the text exposition format."""
        self._fold()
        return generate_latest(self.registry)

    def _fold(self) -> None:
        """Add to the metrics what was recorded; a request itself only notes it, which costs a tenth."""
        for route, method, status, seconds in _taken(self._answered):
            requests, durations = self._request_children(route, method if method in METHODS else "other", str(status))
            requests.inc()
            durations.observe(seconds)
        for tokenizer, model, tokens, characters in _taken(self._counted):
            token_counter, character_counter, ratio = self._count_children(tokenizer, model)
            token_counter.inc(tokens)
            character_counter.inc(characters)
            if characters:
                ratio.observe(tokens / characters)

    @lru_cache(maxsize=4096)  # noqa: B019 - one Metrics lives as long as its process; labels are closed sets
    def _request_children(self, route: str, method: str, status: str) -> tuple[Counter, Histogram]:
        return self._requests.labels(route, method, status), self._seconds.labels(route)

    @lru_cache(maxsize=4096)  # noqa: B019
    def _count_children(self, tokenizer: str, model: str) -> tuple[Counter, Counter, Histogram]:
        return (
            self._tokens.labels(tokenizer, model),
            self._characters.labels(tokenizer, model),
            self._ratio.labels(tokenizer),
        )


def _taken(waiting: deque[T]) -> Iterator[T]:
    """What waits, each taken by one thread only."""
    while waiting:
        try:
            yield waiting.popleft()
        except IndexError:  # another thread took the last one
            return
