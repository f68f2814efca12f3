"""What ``POST /v1/advise`` does: read the call, measure every way to save on it, encode the answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec

from adapters.port import Stop
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.pricing.wire import moment
from service.api.saving.schemas import AdviseRequest
from service.api.saving.wire import wire_advised
from service.api.services import Services
from service.api.weighing.requests import EXACTLY_ONE, count_one, is_plain, model_of, record, requests_of
from service.domain.advice import Advised, Call, Weigh
from service.domain.advise import MOST_CHARACTERS, advise, with_alternative
from service.domain.catalog import Resolution
from service.domain.counting import Count, count_text, require_exact_count
from service.domain.errors import InconsistentUsage
from service.domain.estimate import CacheUse, CallPlan
from service.domain.prices import PriceContext
from service.domain.pricing import Pricer
from service.domain.request import Request, Text, media_of, user_message
from service.domain.rewriting import passages
from service.domain.rulebook import RuleBook
from service.domain.rules import Asked

_encode = msgspec.json.Encoder().encode


def advise_work(services: Services, body: bytes, stop: Stop | None) -> bytes:
    """``POST /v1/advise``."""
    given = decode(body, AdviseRequest)
    request = _sent(services, given)
    found = services.resolve(model_of(given.model, [request]), given.provider)
    at = moment(given.at, services.now())
    weigh = _weigh(services, given, found, at, stop)
    call = call_of(given, request, found, weigh, (services.pricer, services.rules, at))
    advised = advised_of(given, replace(call, stop=stop))
    record(services, [advised.count])
    return _encode(wire_advised(advised, call))


def call_of(
    given: AdviseRequest, request: Request, found: Resolution, weigh: Weigh, known: tuple[Pricer, RuleBook, datetime]
) -> Call:
    """The call as the domain takes it; ``known`` are the prices, the rules and the time. Raises ``ApiError``."""
    pricer, rules, at = known
    check_size(request, given.alternative_text)
    asked = Asked(found.model, found.provider, request.dialect, at.date().isoformat())
    return Call(
        request=request,
        plan=plan_of(given, request, at),
        weigh=weigh,
        price_of=lambda context: pricer.price(found, at, context),
        image=rules.of(asked).image,
        cache=rules.cache_of(asked),
        alternative=alternative_of(given, request),
    )


def advised_of(given: AdviseRequest, call: Call) -> Advised:
    """Every way to save on ``call``. Raises ``InexactCount``, ``InconsistentUsage``, ``DeadlineExceeded``."""
    advised = advise(call)
    if given.strict:
        require_exact_count(advised.count)
    if given.cache.read_tokens > advised.count.high:
        raise InconsistentUsage("cache.read_tokens is more than the input can have")
    return advised


def plan_of(given: AdviseRequest, request: Request, at: datetime) -> CallPlan:
    """How the call is billed; where neither the caller nor the request says a word about output, there is none."""
    expected = given.expected_output_tokens
    most = request.max_output_tokens if given.max_output_tokens is None else given.max_output_tokens
    if expected is not None and most is not None and expected > most:
        raise InconsistentUsage("expected_output_tokens is more than max_output_tokens")
    return CallPlan(
        at,
        PriceContext(given.service_tier, given.region),
        expected_output_tokens=(most or 0) if expected is None else expected,
        cache=CacheUse(given.cache.read_tokens, given.cache.write),
        media=media_of(request),
    )


def alternative_of(given: AdviseRequest, request: Request) -> Request | None:
    """The request with the caller's alternative. Raises ``ApiError`` where it has no text to replace."""
    if given.alternative_text is None:
        return None
    changed = with_alternative(request, given.alternative_text, of_system=given.alternative_of == "system")
    if changed is None:
        detail = "The request has no such message with a text; `alternative_of` says which is meant."
        raise ApiError(422, "invalid_request", detail, path="alternative_text")
    return changed


def check_size(request: Request, alternative: str | None) -> None:
    """Raise ``ApiError`` where there is more text than is looked through."""
    if sum(len(passage.text) for passage in passages(request)) + len(alternative or "") > MOST_CHARACTERS:
        detail = f"At most {MOST_CHARACTERS} characters are looked through at once. /v1/count takes more."
        raise ApiError(413, "text_too_long", detail, path="text")


def _sent(services: Services, given: AdviseRequest) -> Request:
    if given.texts is not None:
        raise ApiError(422, "invalid_request", "Advice is about one call: give `text`, not `texts`.", path="texts")
    if not is_plain(given):
        [request], _ = requests_of(services, given)
    elif given.text is None:
        raise ApiError(422, "invalid_request", EXACTLY_ONE, path="text")
    else:
        request = user_message(given.text)
    return request


def _weigh(services: Services, given: AdviseRequest, found: Resolution, at: datetime, stop: Stop | None) -> Weigh:
    """How the call is counted: a bare text as a text, all else as a request."""
    if not is_plain(given):
        return lambda request: count_one(services, found, request, at, stop)
    scale, parse = services.weigher.scale_of(found), given.special_tokens == "parse"

    def bare(request: Request) -> Count:
        [part] = request.messages[0].parts
        text = part.text if isinstance(part, Text) else ""
        return count_text(scale, text, parse_special=parse, stop=stop)

    return bare
