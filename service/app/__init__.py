"""The composition root: from settings to finished parts, and from those to the ASGI application and the server."""

from __future__ import annotations

from collections.abc import Callable

from service.api.access import KeyGuard
from service.api.application import STATIC_ROUTES
from service.api.body import BodyLimit
from service.api.exchange import App
from service.api.lane import FastLane
from service.api.lines import RequestLines
from service.api.middleware import HostGuard, RequestLog
from service.api.routes.weighing import HOT
from service.api.services import Services
from service.app.assembly import Assembly, inner_app
from service.app.keys import reach_of
from service.app.server import bind
from service.app.server import serve as run_server
from service.app.upkeep import Upkept
from service.settings import Settings

__all__ = ["Assembly", "build_app", "build_services", "create_app", "serve"]


def create_app() -> App:
    """The application as the environment describes it; everything is loaded and proven before this returns.

    It is for a server that speaks ASGI with its lifespan, one process of it.
    """
    assembly = Assembly(Settings.from_env())
    app = layered(assembly.switch, assembly.services, current=lambda: assembly.services)
    return Upkept(app, assembly)


def build_services(settings: Settings) -> Services:
    """Finished parts. Raises when a file is damaged or the configuration is wrong."""
    return Assembly(settings).services


def build_app(services: Services) -> App:
    """The application over finished parts."""
    return layered(inner_app(services), services)


def layered(
    app: App, services: Services, *, insecure: bool = False, current: Callable[[], Services] | None = None
) -> FastLane:
    """Wrap the routes in their layers, innermost first; ``insecure`` leaves out the check of Host and Origin.

    ``current`` gives the parts in force, where they may be replaced.
    """
    settings = services.settings
    app = BodyLimit(app, limit=settings.max_body_bytes, timeout=settings.body_timeout_seconds, pool=services.pool)
    app = KeyGuard(app, services.keyring, services.limiter)
    if not insecure:
        app = HostGuard(app, services.keyring)
    log = RequestLog(app, services.metrics, RequestLines(settings.log), routes=STATIC_ROUTES)
    return FastLane(log, HOT, current or (lambda: services), any_host=insecure)


def serve(host: str, port: int, *, insecure: bool = False) -> None:
    """Serve on ``host`` and ``port`` until SIGTERM or SIGINT.

    Raises ``InvalidSetting`` for a host that others can reach where there are no keys. ``insecure`` allows it, under
    any name: whoever reaches the port may then use the service.
    """
    with bind(host, port) as listener:
        assembly = Assembly(Settings.from_env(), reach_of(host, insecure=insecure))
        app = layered(assembly.switch, assembly.services, insecure=insecure, current=lambda: assembly.services)
        run_server(app, assembly, listener)
