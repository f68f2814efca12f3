"""Which vendor's route a path is, and in whose shape errors on a path are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from service.api.vendors import anthropic, gemini, litellm, openai, tokenizing
from service.api.vendors.call import VendorRoute
from service.api.vendors.shape import Shape

_ROUTES = (*openai.ROUTES, *anthropic.ROUTES, *tokenizing.ROUTES, *litellm.ROUTES)
_BY_PATH: Mapping[str, VendorRoute] = {route.template: route for route in _ROUTES}
STATIC = frozenset(_BY_PATH)
"""Vendors' routes without parameters."""

ROUTES = (*_ROUTES, anthropic.VERTEX, gemini.DEVELOPER, gemini.VERTEX, gemini.VERTEX_PROJECT)
"""Every vendor's route."""

_GOOGLE = "publishers/google/models/"
"""What a model's name begins with where Vertex AI sells it and Google makes it."""

_MODEL = r"(?P<model>.+):countTokens"
_PATTERNS: tuple[tuple[re.Pattern[str], VendorRoute, str], ...] = (
    (re.compile(rf"/(?:v1|v1beta|v1beta1)/publishers/google/models/{_MODEL}"), gemini.VERTEX, _GOOGLE),
    (
        re.compile(rf"/(?:v1|v1beta|v1beta1)/projects/[^/]+/locations/[^/]+/publishers/google/models/{_MODEL}"),
        gemini.VERTEX_PROJECT,
        _GOOGLE,
    ),
    (re.compile(rf"/(?:v1|v1beta|v1beta1)/models/{_MODEL}"), gemini.DEVELOPER, ""),
    (
        re.compile(r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/count-tokens:rawPredict"),
        anthropic.VERTEX,
        "",
    ),
)
_SHAPES = (
    (re.compile(r"/v1/(responses|chat|completions|embeddings)(/.*)?"), openai.SHAPE),
    (re.compile(r"/v1/messages(/.*)?|/v1/projects/.*/publishers/anthropic/.*"), anthropic.SHAPE),
    (re.compile(r"/v1beta1?/.*|/v1/(models/.+:\w+|publishers/.*|projects/.*)", re.DOTALL), gemini.SHAPE),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A route and the model that its path names, with its seller."""

    route: VendorRoute
    model: str | None = None


_STATIC: Mapping[str, Found] = {path: Found(route) for path, route in _BY_PATH.items()}


def find_route(path: str) -> Found | None:
    """The vendor's route that a path is."""
    found = _STATIC.get(path)
    if found is not None or not path.endswith((":countTokens", ":rawPredict")):
        return found
    for pattern, route, prefix in _PATTERNS:
        match = pattern.fullmatch(path)
        if match is not None:
            named = match.groupdict().get("model")
            return Found(route, named and prefix + named)
    return None


def template_of(path: str) -> str | None:
    """The route template of a vendor's path, for metrics and the log."""
    found = find_route(path)
    return None if found is None else found.route.template


def shape_of(path: str, body: bytes) -> Shape | None:
    """The shape of errors on a path; ``None`` for our own. Of ``/tokenize`` it is that of the body's form."""
    found = find_route(path)
    if found is not None:
        return tokenizing.shape_of(body) if path == "/tokenize" else found.route.shape
    return next((shape for pattern, shape in _SHAPES if pattern.fullmatch(path)), None)
