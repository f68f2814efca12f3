"""The composition root: from settings to finished parts, and from those to the ASGI application and the server."""

from __future__ import annotations

from service.api.application import STATIC_ROUTES
from service.api.body import BodyLimit
from service.api.exchange import App
from service.api.middleware import HostGuard, RequestLog, log_writer
from service.api.services import Services
from service.app.assembly import Assembly, inner_app
from service.app.server import bind, require_loopback
from service.app.server import serve as run_server
from service.settings import Settings

__all__ = ["Assembly", "build_app", "build_services", "create_app", "serve"]


def create_app() -> App:
    """The application as the environment describes it; everything is loaded and proven before this returns."""
    assembly = Assembly(Settings.from_env())
    return layered(assembly.switch, assembly.services)


def build_services(settings: Settings) -> Services:
    """Finished parts. Raises when a file is damaged or the configuration is wrong."""
    return Assembly(settings).services


def build_app(services: Services) -> App:
    """The application over finished parts."""
    return layered(inner_app(services), services)


def layered(app: App, services: Services, *, insecure: bool = False) -> App:
    """Wrap the routes in their layers, innermost first; ``insecure`` leaves out the check of Host and Origin."""
    settings = services.settings
    app = BodyLimit(app, limit=settings.max_body_bytes, timeout=settings.body_timeout_seconds, pool=services.pool)
    if not insecure:
        app = HostGuard(app)
    return RequestLog(app, services.metrics, log_writer(settings.log), routes=STATIC_ROUTES)


def serve(host: str, port: int, *, insecure: bool = False) -> None:
    """Serve on ``host`` and ``port`` until SIGTERM or SIGINT. Raises ``InvalidSetting`` for a host others can reach.

    ``insecure`` allows such a host, under any name: whoever reaches the port may then use the service.
    """
    if not insecure:
        require_loopback(host)
    with bind(host, port) as listener:
        assembly = Assembly(Settings.from_env())
        run_server(layered(assembly.switch, assembly.services, insecure=insecure), assembly, listener)
