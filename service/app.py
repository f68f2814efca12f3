"""The composition root: from settings to finished parts, and from those to the ASGI application and the server."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tomllib
from collections.abc import Mapping
from importlib import resources
from types import FrameType
from typing import Any, cast

import uvicorn

from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import Manifest, read_manifest
from adapters.port import Tokenizer, TokenizerSpec
from service import __version__
from service.api.application import build_api
from service.api.body import BodyLimit
from service.api.exchange import App
from service.api.hot import HotRoutes
from service.api.middleware import HostGuard, RequestLog, log_writer
from service.api.pool import CountPool
from service.api.routes.weighing import HOT
from service.api.services import Services
from service.configfile import load_catalog, read_config
from service.domain.counting import Weigher
from service.domain.literals import control_marks
from service.metrics import Metrics
from service.settings import InvalidSetting, Settings, unknown_variables

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def create_app() -> App:
    """The application as the environment describes it; everything is loaded and proven before this returns."""
    return build_app(build_services(Settings.from_env()))


def build_services(settings: Settings) -> Services:
    """Load every vocabulary and the catalog. Raises when a file is damaged or the configuration is wrong."""
    metrics = Metrics()
    manifest = read_manifest()
    config = read_config(
        settings.config_file,
        manifest.patterns,
        required=settings.config is not None,
        vocabularies=(*manifest.vendored, *manifest.on_request),
    )
    specs = known_specs(manifest, settings) | {spec.name: spec for spec in config.tokenizers}
    options = LoaderOptions(settings.engine, frozenset(manifest.patterns.values()), metrics.fallback)
    tokenizers = Vocabularies(specs, options).load_all(settings.vocabularies or None)
    for name, tokenizer in tokenizers.items():
        metrics.loaded(name, tokenizer.family.value, tokenizer.engine)
    pool = CountPool(
        workers=settings.workers, queue_limit=settings.queue_limit, deadline_seconds=settings.deadline_seconds
    )
    metrics.watch_pool(lambda: pool.depth)
    return Services(
        settings=settings,
        weigher=Weigher(load_catalog(config), tokenizers, _control_marks(tokenizers, manifest, settings)),
        metrics=metrics,
        pool=pool,
        specs=specs,
        absent=[spec for spec in _on_request(manifest, settings) if spec.name not in specs],
        version=__version__,
    )


def known_specs(manifest: Manifest, settings: Settings) -> dict[str, TokenizerSpec]:
    """The vocabularies that are on this machine: all vendored ones, and those that were added to the data directory."""
    added = {spec.name: spec for spec in _on_request(manifest, settings) if spec.path.is_file()}
    return dict(manifest.vendored) | added


def build_app(services: Services, *, insecure: bool = False) -> App:
    """Wrap the routes in their layers, innermost first; ``insecure`` leaves out the check of Host and Origin."""
    settings = services.settings
    app: App = cast("App", build_api(services))
    app = HotRoutes(app, services, HOT)
    app = BodyLimit(app, limit=settings.max_body_bytes, timeout=settings.body_timeout_seconds, pool=services.pool)
    if not insecure:
        app = HostGuard(app)
    return RequestLog(app, services.metrics, log_writer(settings.log))


class Server(uvicorn.Server):
    """uvicorn's server, which on SIGTERM first says on ``/readyz`` that it is going, then drains."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the shutdown before uvicorn begins it."""
        self._services.lifecycle.draining = True
        super().handle_exit(sig, frame)


def serve(host: str, port: int, *, insecure: bool = False) -> None:
    """Serve on ``host`` and ``port`` until SIGTERM or SIGINT. Raises ``InvalidSetting`` for a host others can reach.

    ``insecure`` allows such a host, under any name: whoever reaches the port may then use the service.
    """
    if host not in _LOOPBACK and not insecure:
        raise InvalidSetting(
            f"Without keys the service listens on this machine only ({', '.join(_LOOPBACK)}). "
            "Behind a wall of your own, --insecure lets it listen elsewhere."
        )
    for message in unknown_variables(os.environ):
        sys.stderr.write(f"weighbridge: {message}\n")
    services = build_services(Settings.from_env())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    config = uvicorn.Config(
        cast("Any", build_app(services, insecure=insecure)),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,  # longer than the idle time of common client pools
        timeout_graceful_shutdown=services.settings.drain_seconds,
    )
    server = Server(config, services)
    sys.stderr.write(f"weighbridge {__version__}: listening on http://{_bracketed(host)}:{port}\n")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _already_handled)
    try:
        server.run()
    finally:
        services.pool.close()


def _already_handled(number: int, frame: FrameType | None) -> None:
    """Take the signal that uvicorn, once it has drained, raises again: the process then ends with status 0."""
    del number, frame


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _on_request(manifest: Manifest, settings: Settings) -> list[TokenizerSpec]:
    return [entry.spec(settings.vocabulary_dir) for entry in manifest.on_request.values()]


def _control_marks(tokenizers: Mapping[str, Tokenizer], manifest: Manifest, settings: Settings) -> frozenset[str]:
    text = resources.files("service").joinpath("data/control_marks.toml").read_text("utf-8")
    formats = tomllib.loads(text)["format"]
    special = [t.special_tokens for t in tokenizers.values()]
    special += [spec.special for spec in (*manifest.vendored.values(), *_on_request(manifest, settings))]
    return control_marks(special, [mark for row in formats for mark in row["marks"]])
