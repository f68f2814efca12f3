"""How a call that is described once becomes a method of the client that waits and of the one that is awaited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def named_like(method: Any, build: Callable[..., Any]) -> None:
    """Give ``method`` the name, the text and, after ``self``, the parameters of ``build``."""
    method.__name__ = build.__name__
    method.__qualname__ = build.__qualname__
    method.__doc__ = build.__doc__
    signature = inspect.signature(build)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    given = [each for each in signature.parameters.values() if each.name != "self"]
    result = str(signature.return_annotation).partition("[")[2].removesuffix("]")  # of Call[...] or Steps[...]
    method.__signature__ = signature.replace(parameters=[own, *given], return_annotation=result)
