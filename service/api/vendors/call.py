"""One call of a vendor's route: what came in, the model it means, and the headers that mark the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from adapters.port import Stop, Tokenizer
from service.api.decoding import decode, shaped
from service.api.errors import ApiError
from service.api.openapi import Operation
from service.api.services import Later, Services, run
from service.api.vendors.shape import Shape
from service.domain.catalog import Accuracy, Resolution
from service.domain.counting import Count, Scale, own_tokenizer

T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """A call: its body, its query, and the ``model`` that its path names.

    ``marks`` are the headers that the answer bears besides the vendor's own; the route's work adds them.
    """

    body: bytes
    model: str | None = None
    query: bytes = b""
    marks: dict[str, str] = field(default_factory=dict)

    def values(self, kind: type) -> dict[str, Any]:
        """The body as plain JSON values that fit ``kind``. Fields that it does not name are let through."""
        values: dict[str, Any] = decode(self.body, dict[str, Any])
        shaped(values, kind)
        return values

    def typed(self, kind: type[T]) -> T:
        """The body as a ``kind``."""
        return decode(self.body, kind)

    def mark(self, accuracy: Accuracy) -> None:
        """Say in a header how sure the answer is."""
        self.marks["weighbridge-accuracy"] = accuracy.value

    def mark_count(self, count: Count) -> None:
        """Say in headers how sure the count is, where the vendor's own lies, and what to know about it."""
        self.mark(Accuracy(count.accuracy))
        self.marks["weighbridge-low"] = str(count.low)
        self.marks["weighbridge-high"] = str(count.high)
        if count.warnings:
            self.marks["weighbridge-warnings"] = ", ".join(sorted({notice.code for notice in count.warnings}))

    def mark_ids(self, scale: Scale, counted: Sequence[tuple[int, str]]) -> None:
        """As ``mark_count``, of texts whose ids were given on ``scale``: tokens and text of each."""
        self.mark(scale.accuracy)
        bounds = scale.estimator.bounds if scale.estimator is not None else lambda tokens, _text: (tokens,) * 3
        ranges = [bounds(tokens, text) for tokens, text in counted]
        self.marks["weighbridge-low"] = str(sum(low for _, low, _ in ranges))
        self.marks["weighbridge-high"] = str(sum(high for _, _, high in ranges))


VendorWork = Callable[[Services, Call, Stop | None], bytes | Later]


@dataclass(frozen=True, slots=True)
class VendorRoute:
    """A route of a vendor's. ``weight`` says how many times dearer a byte is than one that is only counted."""

    template: str
    shape: Shape
    work: VendorWork
    operation: Operation
    weight: int = 1


async def answer(services: Services, route: VendorRoute, call: Call) -> bytes:
    """Do a route's work: in the event loop for a small body, in the pool for a large one."""
    return await run(services, lambda known, _body, stop: route.work(known, call, stop), call.body, weight=route.weight)


def model_name(services: Services, call: Call, named: str | None) -> str:
    """The model that the path, the body (``named``) or the service's own choice names. Raises ``ApiError``."""
    model = call.model or named or services.settings.default_model
    if not model:
        detail = "The call names no model. Send `model`, or start the service with WEIGHBRIDGE_DEFAULT_MODEL."
        raise ApiError(400, "model_missing", detail, path="model")
    return model


def resolved(services: Services, call: Call, named: str | None) -> Resolution:
    """That model in the catalog, which can be counted. Raises ``ApiError``, ``UnknownModel``, ``NoTokenizer``."""
    return services.resolve(model_name(services, call, named), None)


def own_scale(services: Services, call: Call, named: str | None) -> tuple[Scale, Tokenizer]:
    """The scale of the model and its own tokenizer. Raises ``ApiError``, ``NoTokenizer``, ``NoIds``."""
    limit = services.settings.max_tokenize_bytes
    if len(call.body) > limit:
        raise ApiError(413, "text_too_long", f"At most {limit} bytes are taken at once. /v1/count takes more.")
    scale = services.weigher.scale_of(resolved(services, call, named))
    return scale, own_tokenizer(scale)
