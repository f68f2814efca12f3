"""Dropping a conversation's oldest turns until it fits: what belongs together stays together, and each fit is counted.

A round is a user's message and all that follows it up to the next. Whole rounds go first, oldest first, so what is left
begins with a user's message wherever the conversation did. Then the steps after the last user's message go: a step is
what the model said or called, with the results. System messages, the last user's message and whatever the caller
keeps stay. A tool's call and its result are never parted, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from service.domain.catalog import ModelSpec
from service.domain.counting import Count
from service.domain.notices import Notice
from service.domain.request import Message, Request, Text, ToolCall, ToolResult, flattened

Bound = Literal["high", "tokens"]
Recount = Callable[[Sequence[int]], Count]
"""Counts the whole request with only those items of the conversation, by their places."""

_SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the conversation, as the caller's list has it.

    ``messages`` are what was read from it; an item that brought nothing has none. ``weight`` is the length of its
    texts, from which the first guess is made.
    """

    place: int
    messages: tuple[Message, ...]

    @property
    def weight(self) -> int:
        """Characters of all that is said in it, and one for the item itself."""
        parts = [part for message in self.messages for part in flattened(message.parts)]
        return 1 + sum(len(_said(part)) for part in parts)

    @property
    def is_system(self) -> bool:
        """Whether it instructs the model, and so is never dropped."""
        return bool(self.messages) and all(message.role in _SYSTEM for message in self.messages)

    @property
    def has_result(self) -> bool:
        """Whether it brings a tool's result."""
        return any(
            message.role in ("tool", "function") or any(isinstance(part, ToolResult) for part in message.parts)
            for message in self.messages
        )

    @property
    def is_user(self) -> bool:
        """Whether the user says something in it, beside any results."""
        return any(
            message.role == "user" and not all(isinstance(part, ToolResult) for part in message.parts)
            for message in self.messages
        )

    @property
    def is_model(self) -> bool:
        """Whether the model said it."""
        return any(message.role == "assistant" for message in self.messages)

    @property
    def calls(self) -> set[str]:
        """The ids of the tool calls in it."""
        return {p.id for message in self.messages for p in message.parts if isinstance(p, ToolCall) and p.id}

    @property
    def results(self) -> set[str]:
        """The ids of the calls whose results it brings."""
        return {p.call_id for message in self.messages for p in message.parts if isinstance(p, ToolResult)}


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The items kept and dropped, by their places, and the count of the whole request before and after.

    Where it does not ``fit``, ``kept`` is the least that has to stay.
    """

    limit: int
    fits: bool
    kept: Sequence[int]
    dropped: Sequence[int]
    before: Count
    after: Count


def trim(
    items: Sequence[Item],
    limit: int,
    recount: Recount,
    *,
    keep_first: int = 0,
    keep_last: int = 1,
    fit_by: Bound = "high",
) -> Trimmed:
    """Drop as little as can be for the request to take at most ``limit`` tokens, by the bound ``fit_by``.

    ``keep_first`` and ``keep_last`` are how many items stay at either end, system messages aside. Adding an item never
    lowers a count, so the least to drop is searched for, from a guess by length. Raises what ``recount`` raises.
    """
    everything = [item.place for item in items]
    before = recount(everything)
    counts = {0: before}
    groups = droppable(items, keep_first=keep_first, keep_last=keep_last)

    def kept(drops: int) -> list[int]:
        gone = {place for group in groups[:drops] for place in group}
        return [place for place in everything if place not in gone]

    def fits(drops: int) -> bool:
        if drops not in counts:
            counts[drops] = recount(kept(drops))
        count = counts[drops]
        return (count.high if fit_by == "high" else count.tokens) <= limit

    drops = 0
    if not fits(0) and groups:
        drops = least(len(groups), fits, _guess(items, groups, before, limit))
    gone = sorted(place for group in groups[:drops] for place in group)
    return Trimmed(limit, fits(drops), kept(drops), gone, before, counts[drops])


def droppable(items: Sequence[Item], *, keep_first: int = 0, keep_last: int = 1) -> list[list[int]]:
    """The places of what may go, in groups that go as a whole, in the order in which they go."""
    talk = [item for item in items if not item.is_system]
    last_user = next((at for at in reversed(range(len(talk))) if talk[at].is_user), -1)
    kept = {*range(min(keep_first, len(talk))), *range(max(0, len(talk) - keep_last), len(talk))}
    kept |= {last_user} if last_user >= 0 else {len(talk) - 1}
    rounds = _rounds(talk)
    steps = [step for steps in rounds for step in steps]
    joined = _Joined(len(steps))
    _tie(talk, steps, joined)
    joined.keep({number for number, step in enumerate(steps) if not kept.isdisjoint(step)})
    at = 0
    for own in rounds:
        numbers = range(at, at + len(own))
        at += len(own)
        if not any(joined.is_kept(number) for number in numbers):
            joined.join(*numbers)
        elif talk[own[0][0]].is_user:
            joined.keep({numbers[0]})  # what is left of a round still begins with what the user said
    return [[talk[place].place for step in group for place in steps[step]] for group in joined.free()]


class _Joined:
    """Numbers joined to groups, some of them kept. A group stands where its last member does."""

    def __init__(self, size: int) -> None:
        self._root = list(range(size))
        self._kept: set[int] = set()

    def join(self, *numbers: int) -> None:
        """Make one group of the groups of all ``numbers``."""
        roots = {self._find(number) for number in numbers}
        last = max(roots)
        if roots & self._kept:
            self._kept.add(last)
        for root in roots:
            self._root[root] = last

    def keep(self, numbers: set[int]) -> None:
        """Keep the groups of ``numbers``."""
        self._kept |= {self._find(number) for number in numbers}

    def is_kept(self, number: int) -> bool:
        """Whether the group of ``number`` is kept."""
        return self._find(number) in self._kept

    def free(self) -> list[list[int]]:
        """The groups that are not kept, in their order."""
        groups: dict[int, list[int]] = {}
        for number in range(len(self._root)):
            groups.setdefault(self._find(number), []).append(number)
        return [groups[root] for root in sorted(groups) if root not in self._kept]

    def _find(self, number: int) -> int:
        while self._root[number] != number:
            self._root[number] = self._root[self._root[number]]
            number = self._root[number]
        return number


def _rounds(talk: Sequence[Item]) -> list[list[list[int]]]:
    """Each round's steps, each as the places in ``talk`` that it is made of."""
    rounds: list[list[list[int]]] = []
    for at, item in enumerate(talk):
        opens = item.is_user and not item.has_result
        if opens or not rounds:
            rounds.append([[at]])
        elif item.is_model and not talk[at - 1].is_model:
            rounds[-1].append([at])
        else:
            rounds[-1][-1].append(at)
    return rounds


def _tie(talk: Sequence[Item], steps: Sequence[Sequence[int]], joined: _Joined) -> None:
    """Join each result's step to that of the nearest call of its id before it: ids may be used again."""
    called: dict[str, int] = {}
    for number, step in enumerate(steps):
        for at in step:
            for name in talk[at].results & called.keys():
                joined.join(called[name], number)
            called |= dict.fromkeys(talk[at].calls, number)


def least(most: int, fits: Callable[[int], bool], guess: int) -> int:
    """The least number from 1 to ``most`` that ``fits``, or ``most`` where none does; ``fits`` never turns false again.

    Searched outwards from ``guess`` in growing strides, then by halves: least(9, lambda n: n >= 4, 5) -> 4.
    """
    low, high = 0, most  # `low` does not fit; `high` does, or is the last
    at, stride = min(max(guess, 1), most), 1
    while low < at < high:
        if fits(at):
            high, at = at, at - stride
        else:
            low, at = at, at + stride
        stride *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _guess(items: Sequence[Item], groups: Sequence[Sequence[int]], before: Count, limit: int) -> int:
    """How many groups have to go if all text took the same."""
    weights = {item.place: item.weight for item in items}
    excess = sum(weights.values()) * (1 - limit / max(before.high, limit, 1))
    for number, group in enumerate(groups, 1):
        excess -= sum(weights[place] for place in group)
        if excess <= 0:
            return number
    return len(groups)


def _said(part: object) -> str:
    if isinstance(part, ToolCall):
        return part.arguments
    return part.text if isinstance(part, Text) else ""


def items_of(request: Request, places: Sequence[int], place_of: Callable[[str], int | None]) -> list[Item]:
    """The conversation's items, from what was read of them; ``place_of`` tells from a path which item it lies in.

    A message that was read from several items is divided among them; what lies in none is no part of the conversation.
    """
    found: dict[int, list[Message]] = {place: [] for place in places}
    for message in request.messages:
        shares: dict[int, list[int]] = {}
        for number, part in enumerate(message.parts):
            place = place_of(part.path)
            if place is None:
                place = place_of(message.path)
            if place is not None:
                shares.setdefault(place, []).append(number)
        own = place_of(message.path)
        if not shares and own is not None:
            shares[own] = []
        for place, numbers in shares.items():
            parts = tuple(message.parts[number] for number in numbers)
            found[place].append(Message(message.role, parts, message.name, message.path, message.content_list))
    return [Item(place, tuple(messages)) for place, messages in found.items()]


def room(spec: ModelSpec, limit: int | None, max_output_tokens: int | None, notices: list[Notice]) -> int | None:
    """The most tokens that the input may take: ``limit``, else what the output leaves of the context window.

    Where the caller does not say how much output there may be, the model's own limit is kept free, and a notice says
    so. ``None`` where no source gives the window; 0 or less where the output takes all of it.
    """
    window = spec.context_window
    if limit is not None:
        if window is not None and limit + (max_output_tokens or 0) > window:
            message = f"The context window holds {window} tokens, input and output together."
            notices.append(Notice("limit_above_context", message, "limit"))
        return limit
    if window is None:
        return None
    if max_output_tokens is not None:
        return window - max_output_tokens
    own = spec.max_output_tokens
    if own is None or own >= window:
        message = "Nothing is kept free for the answer: give max_output_tokens."
        notices.append(Notice("output_not_reserved", message, "max_output_tokens"))
        return window
    message = f"Without max_output_tokens the model's own limit is kept free: {own} tokens."
    notices.append(Notice("max_output_assumed", message, "max_output_tokens"))
    return window - own
