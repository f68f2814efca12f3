"""``/docs``: the OpenAPI document as a page, from files of the package alone (RapiDoc 9.3.8, npm, MIT)."""

from __future__ import annotations

import gzip
from importlib import resources

from fastapi import APIRouter, Request, Response

_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def router() -> APIRouter:
    """The page and what it loads."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/docs")
    async def page() -> Response:
        return Response(_file("index.html"), media_type="text/html", headers={"content-security-policy": _POLICY})

    @routes.get("/docs/rapidoc.js")
    async def script(request: Request) -> Response:
        packed, headers = _file("rapidoc-min.js.gz"), {"cache-control": "max-age=86400", "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, media_type="text/javascript", headers=headers | {"content-encoding": "gzip"})
        return Response(gzip.decompress(packed), media_type="text/javascript", headers=headers)

    @routes.get("/docs/icon.svg")
    async def icon() -> Response:
        return Response(_file("icon.svg"), media_type="image/svg+xml")

    return routes


def _file(name: str) -> bytes:
    return resources.files("service").joinpath("data/docs", name).read_bytes()
