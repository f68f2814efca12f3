"""From settings to finished parts, and to new ones when the configuration file or the price list changes.

Parts never change: a reload builds new ones beside the old, which requests under way keep, and then replaces one
reference. Metrics, the pool and the loaded vocabularies are carried over.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from adapters.loader import Engine, LoaderOptions, Vocabularies
from adapters.manifest import Manifest, read_manifest
from adapters.native import FAMILIES
from adapters.native.cores import Cores
from adapters.port import Family, TokenCounter, TokenizerSpec
from adapters.unicode.scripts import script_of
from service import __version__
from service.api.application import build_api, direct_routes
from service.api.dialects.blocks import Probes
from service.api.direct import DirectRoutes
from service.api.exchange import App, Receive, Scope, Send
from service.api.hot import HotRoutes
from service.api.pool import CountPool
from service.api.routes.weighing import HOT
from service.api.services import Lifecycle, Services
from service.app.keys import key_ring, open_keys
from service.app.observing import ObservedLedger
from service.app.saying import say
from service.app.secret import service_secret
from service.configfile import Config, load_catalog, read_config
from service.configfile.rules import rule_book
from service.configfile.shipped import chat_marks, compared_models, message_framings, wrappings
from service.domain.catalog import Catalog
from service.domain.counting import Weigher
from service.domain.errors import InvalidConfig, UnknownModel
from service.domain.keys.keyring import Reach
from service.domain.literals import control_marks
from service.domain.prices import PriceContext, Unknown
from service.domain.pricing import Pricer
from service.domain.spending.alerts import Target
from service.domain.spending.health import LedgerHealth
from service.limiting import rate_limiter
from service.metrics import Metrics
from service.pricebook import PriceList, bundled_list, price_book, priced_catalog
from service.providers import vendor_counter
from service.rendering.library import read_library
from service.rendering.pictures import HeaderSizer
from service.rendering.templates import TemplateRenderer
from service.settings import InvalidSetting, Settings
from service.store.alerts import SqlAlerts
from service.store.ledger import sql_ledger
from service.store.past_calls import SqlPastCalls

if TYPE_CHECKING:
    from genai_prices.types import Provider


class Switch:
    """Hands each request to the application in service, which may be replaced between two of them."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


class Assembly:
    """All parts of one process. Raises, as the readers do, when a file is damaged or the configuration is wrong.

    With ``reach``, who can reach it, the keys are read first: a start that is refused is refused at once.
    """

    def __init__(self, settings: Settings, reach: Reach | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.lifecycle = Lifecycle()
        self.pool = CountPool(
            workers=settings.workers, queue_limit=settings.queue_limit, deadline_seconds=settings.deadline_seconds
        )
        self.metrics.watch_pool(lambda: self.pool.depth)
        self.bundled = bundled_list()
        self._cores = Cores(settings.workers)
        self._manifest = read_manifest()
        self._rules = rule_book()
        self._library = read_library()
        self._loaded: dict[str, tuple[TokenizerSpec, TokenCounter]] = {}
        self._lock = threading.Lock()
        self.remote = vendor_counter(settings, self.metrics.remote_counted)
        self.ledger = sql_ledger(settings.database_url, settings.data_dir, lambda: datetime.now(UTC))
        self.ledger_health = LedgerHealth(say)
        self.metrics.ledger.watch(lambda: self.ledger_health.word == "up")
        self.observed = ObservedLedger(
            self.ledger, self.metrics.ledger, self.ledger_health, lambda: self.services.weigher.catalog
        )
        self.past = SqlPastCalls(self.ledger.read, lambda: datetime.now(UTC))
        self.alerts = SqlAlerts(self.ledger.read, self.ledger.write, lambda: datetime.now(UTC))
        self.lost_prices: set[tuple[str, str]] = set()
        self.secret = service_secret(settings)
        self.keyring = key_ring(settings, self.ledger, self.secret)
        if reach is not None:
            open_keys(self.keyring, self.ledger, reach, say)
        self.limiter = rate_limiter(settings.redis_url, self.secret, self.metrics.rate_limit_fallbacks.inc)
        self._prices = self.bundled
        self._config = self._read_config()
        self.services = self._build(self._config, self._prices)
        self.switch = Switch(inner_app(self.services))
        self._show(self._prices)

    def reload(self) -> None:
        """Read the configuration file anew. Raises, and everything stays as it was, where it is wrong."""
        with self._lock:
            config = self._read_config()
            self._replace(self._build(config, self._prices))
            self._config = config
            self._show(self._prices)

    def accept(self, providers: Sequence[Provider], source: str, revision: str, checked: str) -> None:
        """Put a fetched price list in service."""
        with self._lock:
            prices = PriceList(providers, source, revision, checked)
            self._replace(self._build(self._config, prices))
            self._prices = prices
            self._show(prices)

    @property
    def webhooks(self) -> Sequence[Target]:
        """Where alerts are sent."""
        return self._config.webhooks

    def _replace(self, services: Services) -> None:
        app = inner_app(services)
        self.lost_prices |= lost_prices(self.services, services)
        self.services = services
        self.switch.app = app

    def _read_config(self) -> Config:
        settings = self.settings
        shipped = (*self._manifest.vendored, *self._manifest.on_request)
        config = read_config(
            settings.config_file,
            self._manifest.patterns,
            required=settings.config is not None,
            vocabularies=shipped,
            env=os.environ,
        )
        for spec in config.tokenizers:
            if spec.name in shipped:
                problem = f"The tokenizer {spec.name!r} is shipped with the package: give yours another name."
                raise InvalidConfig(settings.config_file, 0, problem)
        return config

    def _build(self, config: Config, prices: PriceList) -> Services:
        settings, manifest = self.settings, self._manifest
        specs = manifest.available(settings.vocabulary_dir) | {spec.name: spec for spec in config.tokenizers}
        tokenizers = self._load(specs)
        on_request = [entry.spec(settings.vocabulary_dir) for entry in manifest.on_request.values()]
        catalog = priced_catalog(load_catalog(config), prices, config)
        _require_default(catalog, settings.default_model)
        book = price_book(prices, catalog, config)
        return Services(
            settings=settings,
            weigher=Weigher(catalog, tokenizers, _marks(tokenizers, manifest, on_request)),
            metrics=self.metrics,
            pool=self.pool,
            specs=specs,
            pricer=Pricer(catalog, book),
            ledger=self.observed,
            ledger_health=self.ledger_health,
            secret=self.secret,
            past=self.past,
            keyring=self.keyring,
            limiter=self.limiter,
            rules=self._rules,
            probes=Probes(image_size=HeaderSizer()),
            renderer=TemplateRenderer(
                self._library.available(settings.vocabulary_dir),
                self._library.uses,
                tokenizers,
                clock=lambda: datetime.now(UTC),
                allow_own=settings.allow_chat_template,
            ),
            framings=message_framings(),
            compared=compared_models(),
            script_of=script_of,
            absent=[spec for spec in on_request if spec.name not in specs],
            replaced=_replaced(specs, tokenizers, settings.engine),
            version=__version__,
            lifecycle=self.lifecycle,
            remote=self.remote,
            wrappings=wrappings(),
        )

    def _load(self, specs: dict[str, TokenizerSpec]) -> dict[str, TokenCounter]:
        """Every vocabulary, or those that were chosen; one whose spec is unchanged is kept, others are loaded now."""
        patterns = frozenset(self._manifest.patterns.values())
        settings = self.settings
        options = LoaderOptions(settings.engine, patterns, self.metrics.fallback, settings.require_native, self._cores)
        loader = Vocabularies(specs, options)
        names = list(self.settings.vocabularies or specs)
        kept = {name: known for name, known in self._loaded.items() if known[0] == specs.get(name)}
        loaded = loader.load_all(name for name in names if name not in kept)
        self._loaded = {name: kept.get(name) or (specs[name], loaded[name]) for name in names}
        return {name: tokenizer for name, (_, tokenizer) in self._loaded.items()}

    def _show(self, prices: PriceList) -> None:
        for name, tokenizer in self.services.weigher.tokenizers.items():
            self.metrics.loaded(name, tokenizer.family.value, tokenizer.engine)
        self.metrics.price_book(prices.source, prices.revision, lambda: _age(prices.checked))


def lost_prices(before: Services, after: Services) -> set[tuple[str, str]]:
    """Providers and ids of the models that had a price before and have none any more."""
    specs = {(spec.provider, spec.id) for spec in before.weigher.catalog.models}
    return {names for names in specs if _is_priced(before, *names) and not _is_priced(after, *names)}


def _is_priced(services: Services, provider: str, model: str) -> bool:
    try:
        found = services.weigher.catalog.find(model, provider)
    except UnknownModel:
        return False
    return not isinstance(services.pricer.price(found, services.now(), PriceContext()), Unknown)


def inner_app(services: Services) -> App:
    """The routes over ``services``, the hot ones in front."""
    framework = cast("App", build_api(services))
    return HotRoutes(DirectRoutes(framework, direct_routes(services)), services, HOT)


def _replaced(specs: dict[str, TokenizerSpec], tokenizers: dict[str, TokenCounter], engine: Engine) -> list[str]:
    """The vocabularies that another engine serves than the one that was chosen and knows their kind."""
    chosen = {"native": "native", "library": "tiktoken", "python": "python"}[engine]
    ranked = [name for name in tokenizers if specs[name].family in (Family.TIKTOKEN, Family.BPE)]
    known = [name for name in ranked if engine != "native" or specs[name].pattern in FAMILIES]
    if engine != "library":  # which has no part in Claude's
        known += [name for name in tokenizers if specs[name].family is Family.CLAUDE]
    return sorted(name for name in known if tokenizers[name].engine != chosen)


def _require_default(catalog: Catalog, model: str) -> None:
    """Raise ``InvalidSetting`` unless ``model``, where there is one, is in the catalog."""
    try:
        if model:
            catalog.find(model, None)
    except UnknownModel as error:
        raise InvalidSetting(f"WEIGHBRIDGE_DEFAULT_MODEL: {error}") from None


def _marks(
    tokenizers: dict[str, TokenCounter], manifest: Manifest, on_request: Sequence[TokenizerSpec]
) -> frozenset[str]:
    special = [tokenizer.special_tokens for tokenizer in tokenizers.values()]
    special += [spec.special for spec in (*manifest.vendored.values(), *on_request)]
    return control_marks(special, chat_marks())


def _age(checked: str) -> float:
    """Seconds since the day on which the prices were checked; infinite where nobody knows."""
    if not checked:
        return float("inf")
    return (datetime.now(UTC) - datetime.fromisoformat(checked).replace(tzinfo=UTC)).total_seconds()
