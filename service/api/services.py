"""What every route works with: built once in ``service.app``, never changed afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from adapters.port import Stop, TokenizerSpec
from service.api.dialects.blocks import Probes
from service.api.errors import ApiError
from service.api.holding.recent import RecentHolds
from service.api.pool import CountPool
from service.domain.catalog import Resolution
from service.domain.compare import COMMON, ScriptOf
from service.domain.counting import Scale, Weigher
from service.domain.errors import UnknownModel
from service.domain.framing import MessageFraming
from service.domain.keys.keyring import KeyRing
from service.domain.keys.rates import RateLimiter
from service.domain.keys.secret import Secret
from service.domain.past.calls import NoPastCalls, PastCalls
from service.domain.ports import ChatRenderer
from service.domain.pricing import Pricer
from service.domain.remote import RemoteCounter
from service.domain.rulebook import RuleBook
from service.domain.spending.health import LedgerHealth
from service.domain.spending.ledger import Ledger
from service.domain.wrapping import Wrapping
from service.metrics import Metrics
from service.settings import Settings

T = TypeVar("T")


class Lifecycle:
    """Whether the process is on its way out."""

    __slots__ = ("draining",)

    def __init__(self) -> None:
        self.draining = False


@dataclass(frozen=True, slots=True)
class Services:
    """The finished parts.

    ``absent`` are vocabularies that are known but not installed; ``replaced`` are served by another engine than chosen.
    """

    settings: Settings
    weigher: Weigher
    metrics: Metrics
    pool: CountPool
    specs: Mapping[str, TokenizerSpec]
    pricer: Pricer
    ledger: Ledger
    secret: Secret
    keyring: KeyRing
    limiter: RateLimiter
    past: PastCalls = field(default_factory=NoPastCalls)
    recent_holds: RecentHolds = field(default_factory=RecentHolds)
    framings: Sequence[MessageFraming] = ()
    compared: Sequence[str] = ()
    script_of: ScriptOf = lambda _character: COMMON
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    rules: RuleBook = field(default_factory=RuleBook)
    probes: Probes = field(default_factory=Probes)
    renderer: ChatRenderer | None = None
    absent: Sequence[TokenizerSpec] = ()
    replaced: Sequence[str] = ()
    version: str = ""
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    remote: RemoteCounter | None = None
    wrappings: Mapping[str, Wrapping] = field(default_factory=dict)
    ledger_health: LedgerHealth = field(default_factory=lambda: LedgerHealth(lambda _line: None))

    def scale(self, model: str | None, provider: str | None, tokenizer: str | None) -> Scale:
        """The scale a request asks for. Raises ``ApiError`` unless it names one of model and tokenizer."""
        if (model is None) == (tokenizer is None):
            raise ApiError(422, "invalid_request", "Give exactly one of `model` and `tokenizer`.", path="model")
        if tokenizer is not None:
            if provider is not None:
                raise ApiError(422, "invalid_request", "`provider` goes with `model` only.", path="provider")
            return self.weigher.scale_of_tokenizer(tokenizer)
        return self.weigher.scale_of(self.resolve(model or "", provider))

    def resolve(self, model: str, provider: str | None) -> Resolution:
        """The model that a name means and that can be counted. Raises ``UnknownModel``, ``NoTokenizer``."""
        try:
            return self.weigher.catalog.resolve(model, provider)
        except UnknownModel:
            self.metrics.unknown_models.inc()
            raise

    def find(self, model: str, provider: str | None) -> Resolution:
        """As ``resolve``, also for a model of which only the price is known. Raises ``UnknownModel``."""
        try:
            return self.weigher.catalog.find(model, provider)
        except UnknownModel:
            self.metrics.unknown_models.inc()
            raise


Later = Callable[[], Awaitable[bytes]]
"""The rest of a route's work that waits for others and takes no time of its own: it gives the answer's body."""

Work = Callable[[Services, bytes, Stop | None], bytes | Later]
"""A route's work: from the request's body to the answer's, or to what is left to be waited for."""


async def run(services: Services, work: Work, body: bytes, *, weight: int = 1) -> bytes:
    """Do a route's ``work`` on ``body``, as ``worked`` does it, and wait for the rest of it."""
    done = await worked(services, lambda stop: work(services, body, stop), body, weight=weight)
    return done if isinstance(done, bytes) else await done()


async def worked(services: Services, work: Callable[[Stop | None], T], body: bytes, *, weight: int = 1) -> T:
    """The result of ``work`` on ``body``: done in the event loop for a small body, in the pool for a large one.

    ``weight`` is how many times dearer a byte is than one that is only counted.
    """
    settings = services.settings
    if len(body) * weight <= settings.inline_bytes and not (settings.allow_chat_template and _may_hold_template(body)):
        return work(None)
    return await services.pool.run(work)


def _may_hold_template(body: bytes) -> bool:
    """Whether a caller's own chat template may be in ``body``: rendering one can take seconds, however small it is."""
    return b"template" in body or b"\\u" in body
