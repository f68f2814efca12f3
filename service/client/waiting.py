"""The client that waits: ``Weighbridge``, and its hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx

from service.client import counting_calls, ledger_calls
from service.client.attempts import PATIENT, Attempts, Patience
from service.client.call import Call
from service.client.errors import WeighbridgeError
from service.client.holding import Holding, Steps
from service.client.inputs import Held, Messages
from service.client.settings import DEFAULT_URL, headers_of, left_over
from service.client.table import named_like

P = ParamSpec("P")
T = TypeVar("T")


def _asked(build: Callable[P, Call[T]]) -> Callable[Concatenate[Weighbridge, P], T]:
    def method(self: Weighbridge, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.carry_out(build(*args, **kwargs))

    named_like(method, build)
    return method


def _taken(steps: Callable[Concatenate[Holding, P], Steps[T]]) -> Callable[Concatenate[Hold, P], T]:
    def method(self: Hold, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._take(steps(self, *args, **kwargs))

    named_like(method, steps)
    return method


class Weighbridge:
    """The service, asked from one thread or several. ``close`` at the end, or use it in a ``with`` statement.

    ``key`` is an API key; ``project`` names another project than the key's (an admin's key only). A call is tried
    again where that is safe, as ``patience`` says; ``timeout`` is the longest that one attempt waits for the service,
    in seconds. Every method raises ``WeighbridgeError``.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        key: str | None = None,
        project: str | None = None,
        *,
        timeout: float | None = None,
        patience: Patience = PATIENT,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx.Client(base_url=base_url, headers=headers_of(key), transport=transport)
        self._project = project
        self._patience = patience if timeout is None else replace(patience, timeout=timeout)
        self._sleep = sleep

    count = _asked(counting_calls.count)
    count_texts = _asked(counting_calls.count_texts)
    estimate = _asked(counting_calls.estimate)
    compare = _asked(counting_calls.compare)
    cost = _asked(counting_calls.cost)
    preflight = _asked(ledger_calls.preflight)
    reserve = _asked(ledger_calls.reserve)
    reservation = _asked(ledger_calls.reservation)
    settle = _asked(ledger_calls.settle)
    release = _asked(ledger_calls.release)
    extend = _asked(ledger_calls.extend)
    record_usage = _asked(ledger_calls.record_usage)
    record_all = _asked(ledger_calls.record_all)
    create_budget = _asked(ledger_calls.create_budget)
    get_budget = _asked(ledger_calls.get_budget)
    list_budgets = _asked(ledger_calls.list_budgets)
    change_budget = _asked(ledger_calls.change_budget)
    delete_budget = _asked(ledger_calls.delete_budget)
    spend = _asked(ledger_calls.spend)
    entries = _asked(ledger_calls.entries)
    refusals = _asked(ledger_calls.refusals)

    def hold(
        self,
        model: str | None = None,
        messages: Messages | None = None,
        max_output_tokens: int | None = None,
        **what: Unpack[Held],
    ) -> Hold:
        """A hold around one call of a model, for a ``with`` statement: of every budget that applies to it."""
        return Hold(self, lambda: ledger_calls.reserve(model, messages, max_output_tokens, **what))

    def budget(self, name: str) -> BudgetHandle:
        """One budget, to hold of it alone."""
        return BudgetHandle(self, name)

    def carry_out(self, call: Call[T]) -> T:
        """What ``call`` answers, after as many attempts as it takes."""
        attempts = Attempts(call, self._patience)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = self._http.request(**call.request(self._project), timeout=attempts.timeout)
            except httpx.RequestError as error:
                outcome = error
            pause = attempts.pause_after(outcome)
            if pause is None:
                result: T = attempts.result(outcome, str(self._http.base_url))
                return result
            self._sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class BudgetHandle:
    """One budget of the service."""

    def __init__(self, client: Weighbridge, name: str) -> None:
        self._client = client
        self.name = name

    def hold(
        self,
        model: str | None = None,
        messages: Messages | None = None,
        max_output_tokens: int | None = None,
        **what: Unpack[Held],
    ) -> Hold:
        """As ``Weighbridge.hold``, of this budget alone."""
        held: Held = {**what, "budget": self.name}
        return self._client.hold(model, messages, max_output_tokens, **held)


class Hold(Holding):
    """What is held around one call of a model. Leaving the block without ``settle`` settles or releases it.

    Before ``sent`` nothing was spent: it is released. After it the estimate is booked, flagged ``partial``; call
    ``release`` where the vendor surely billed nothing, as for a request that it refused.
    """

    def __init__(self, client: Weighbridge, reserve: Callable[[], Call[Any]]) -> None:
        super().__init__(reserve)
        self._client = client

    settle = _taken(Holding.settling)
    release = _taken(Holding.releasing)
    extend = _taken(Holding.extending)

    def stream(self, chunks: Iterable[T]) -> Iterator[T]:
        """Pass ``chunks`` of a streamed answer on, and keep what they tell of usage and how far the text came."""
        self.sent()
        for chunk in chunks:
            self._seen.note(chunk)
            yield chunk
        self._seen.ended = True

    def __enter__(self) -> Self:
        self._take(self.opening())
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            self._take(self.closing())
        except WeighbridgeError as failure:
            if error is None:
                raise
            error.add_note(left_over(self.id, failure))

    def _take(self, steps: Steps[T]) -> T:
        try:
            call = next(steps)
            while True:
                try:
                    answer = self._client.carry_out(call)
                except WeighbridgeError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
