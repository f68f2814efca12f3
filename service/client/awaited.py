"""The client that is awaited: ``AsyncWeighbridge``, and its hold. The calls are those of ``Weighbridge``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
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


def _asked(build: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncWeighbridge, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncWeighbridge, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.carry_out(build(*args, **kwargs))

    named_like(method, build)
    return method


def _taken(
    steps: Callable[Concatenate[Holding, P], Steps[T]],
) -> Callable[Concatenate[AsyncHold, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncHold, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._take(steps(self, *args, **kwargs))

    named_like(method, steps)
    return method


class AsyncWeighbridge:
    """The service, asked from one event loop (asyncio's). ``aclose`` at the end, or use it in ``async with``.

    The parameters are those of ``Weighbridge``.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        key: str | None = None,
        project: str | None = None,
        *,
        timeout: float | None = None,
        patience: Patience = PATIENT,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, headers=headers_of(key), transport=transport)
        self._project = project
        self._patience = patience if timeout is None else replace(patience, timeout=timeout)
        self._sleep = sleep
        self._unfinished: set[asyncio.Task[Any]] = set()

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
    ) -> AsyncHold:
        """A hold around one call of a model, for ``async with``: of every budget that applies to it."""
        return AsyncHold(self, lambda: ledger_calls.reserve(model, messages, max_output_tokens, **what))

    def budget(self, name: str) -> AsyncBudgetHandle:
        """One budget, to hold of it alone."""
        return AsyncBudgetHandle(self, name)

    async def carry_out(self, call: Call[T]) -> T:
        """What ``call`` answers, after as many attempts as it takes."""
        attempts = Attempts(call, self._patience)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = await self._http.request(**call.request(self._project), timeout=attempts.timeout)
            except httpx.RequestError as error:
                outcome = error
            pause = attempts.pause_after(outcome)
            if pause is None:
                result: T = attempts.result(outcome, str(self._http.base_url))
                return result
            await self._sleep(pause)

    async def to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, which goes on where the caller is cancelled; that is then raised once it has ended.

        A second cancellation ends the waiting, and ``aclose`` waits for what is left.
        """
        task = asyncio.ensure_future(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

    async def aclose(self) -> None:
        """Finish what was begun, and close the connections."""
        if self._unfinished:
            await asyncio.wait(self._unfinished)
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class AsyncBudgetHandle:
    """One budget of the service."""

    def __init__(self, client: AsyncWeighbridge, name: str) -> None:
        self._client = client
        self.name = name

    def hold(
        self,
        model: str | None = None,
        messages: Messages | None = None,
        max_output_tokens: int | None = None,
        **what: Unpack[Held],
    ) -> AsyncHold:
        """As ``AsyncWeighbridge.hold``, of this budget alone."""
        held: Held = {**what, "budget": self.name}
        return self._client.hold(model, messages, max_output_tokens, **held)


class AsyncHold(Holding):
    """What is held around one call of a model. Leaving the block without ``settle`` settles or releases it.

    Before ``sent`` nothing was spent: it is released. After it the estimate is booked, flagged ``partial``. A
    cancellation does not keep that from happening.
    """

    def __init__(self, client: AsyncWeighbridge, reserve: Callable[[], Call[Any]]) -> None:
        super().__init__(reserve)
        self._client = client

    settle = _taken(Holding.settling)
    release = _taken(Holding.releasing)
    extend = _taken(Holding.extending)

    async def stream(self, chunks: AsyncIterable[T]) -> AsyncIterator[T]:
        """Pass ``chunks`` of a streamed answer on, and keep what they tell of usage and how far the text came."""
        self.sent()
        async for chunk in chunks:
            self._seen.note(chunk)
            yield chunk
        self._seen.ended = True

    async def __aenter__(self) -> Self:
        try:
            await self._client.to_the_end(self._take(self.opening()))
        except asyncio.CancelledError:  # the block is not entered: what was held all the same is given back
            await self._client.to_the_end(self._end(None))
            raise
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._client.to_the_end(self._end(error))

    async def _end(self, error: BaseException | None) -> None:
        try:
            await self._take(self.closing())
        except WeighbridgeError as failure:
            if error is None:
                raise
            error.add_note(left_over(self.id, failure))

    async def _take(self, steps: Steps[T]) -> T:
        try:
            call = next(steps)
            while True:
                try:
                    answer = await self._client.carry_out(call)
                except WeighbridgeError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
