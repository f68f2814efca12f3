"""What a route was asked to weigh, texts or requests, and its counts for one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from adapters.port import Stop
from service.api.errors import ApiError
from service.api.services import Services
from service.api.weighing.requests import EXACTLY_ONE, count_one, is_plain, requests_of
from service.api.weighing.schemas import Input
from service.domain.catalog import Resolution
from service.domain.counting import Count, Scale, count_text, require_exact, require_exact_count
from service.domain.estimate import CallPlan
from service.domain.request import Request, media_of, spoken


@dataclass(frozen=True, slots=True)
class Weighed:
    """Either bare ``texts``, or ``requests`` (then ``texts`` is all that is said in them). ``single``: it was one."""

    texts: Sequence[str]
    requests: Sequence[Request]
    single: bool
    strict: bool = False
    parse_special: bool = False

    def counts(self, services: Services, found: Resolution, at: datetime, stop: Stop | None) -> list[Count]:
        """The count of each for one model. Raises ``InexactCount`` where exact counts were asked for and one is not."""
        if not self.requests:
            return self.bare(services.weigher.scale_of(found), stop)
        counts = [count_one(services, found, request, at, stop) for request in self.requests]
        if self.strict:
            for count in counts:
                require_exact_count(count)
        return counts

    def bare(self, scale: Scale, stop: Stop | None) -> list[Count]:
        """The count of each bare text."""
        if self.strict:
            require_exact(scale)
        paths = ["text"] if self.single else [f"texts[{index}]" for index in range(len(self.texts))]
        return [
            count_text(scale, text, path=path, parse_special=self.parse_special, stop=stop)
            for text, path in zip(self.texts, paths, strict=True)
        ]

    def plans(self, plan: CallPlan) -> list[CallPlan]:
        """How each call will be made: with what the request itself says of its output, and with its media."""
        if not self.requests:
            return [plan] * len(self.texts)
        most = plan.max_output_tokens
        return [
            replace(
                plan,
                max_output_tokens=request.max_output_tokens if most is None else most,
                answers=request.answers,
                media=media_of(request),
            )
            for request in self.requests
        ]


def weighed_of(services: Services, given: Input) -> Weighed:
    """What was sent. Raises ``ApiError``."""
    parse = given.special_tokens == "parse"
    if not is_plain(given):
        requests, single = requests_of(services, given)
        texts = [text for request in requests for text in spoken(request)]
        return Weighed(texts, requests, single, given.strict)
    if (given.text is None) == (given.texts is None):
        raise ApiError(422, "invalid_request", EXACTLY_ONE, path="text")
    single = given.text is not None
    return Weighed([given.text] if given.text is not None else given.texts or [], (), single, given.strict, parse)
