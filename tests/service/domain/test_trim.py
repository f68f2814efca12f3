"""What may be dropped from a conversation, and the search for the least that has to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.catalog import ModelSpec
from service.domain.notices import Notice
from service.domain.request import Message, Part, Role, Text, ToolCall, ToolResult
from service.domain.trim import Item, droppable, least, room


def item(place: int, role: Role, *parts: Part) -> Item:
    return Item(place, (Message(role, parts or (Text("x"),)),))


def talk(*turns: Role | tuple[Role, tuple[Part, ...]]) -> list[Item]:
    split = [(turn, ()) if isinstance(turn, str) else turn for turn in turns]
    return [item(place, role, *parts) for place, (role, parts) in enumerate(split)]


def call(name: str) -> tuple[Role, tuple[Part, ...]]:
    return "assistant", (ToolCall("f", "{}", name),)


def result(name: str) -> tuple[Role, tuple[Part, ...]]:
    return "tool", (ToolResult((Text("r"),), name),)


def test_whole_rounds_go_before_steps_of_the_last_one() -> None:
    turns = talk("system", "user", "assistant", "user", call("a"), result("a"), call("b"), result("b"), "assistant")
    assert droppable(turns) == [[1, 2], [4, 5], [6, 7]]
    assert droppable(turns, keep_last=0) == [[1, 2], [4, 5], [6, 7], [8]]
    assert droppable(turns, keep_last=2) == [[1, 2], [4, 5]]


def test_system_and_developer_messages_stay_wherever_they_stand() -> None:
    assert droppable(talk("developer", "user", "assistant", "system", "user")) == [[1, 2]]


def test_what_is_kept_of_a_round_begins_with_the_users_message() -> None:
    turns = talk("user", "assistant", "user", call("a"), result("a"), "assistant", "user")
    assert droppable(turns, keep_last=2) == [[0, 1], [3, 4]]
    assert droppable(turns, keep_first=1) == [[1], [2, 3, 4, 5]]


def test_a_call_goes_with_a_result_that_comes_rounds_later() -> None:
    late = talk("user", call("a"), "user", "assistant", "user", result("a"), "assistant", "user")
    assert droppable(late) == [[2, 3], [0, 1, 4, 5, 6]]
    pending = talk("user", call("a"), "user", "assistant", "user", result("a"))
    assert droppable(pending) == [[2, 3]]


def test_ids_that_are_used_again_tie_each_result_to_the_call_before_it() -> None:
    turns = talk("user", call("0"), result("0"), "user", call("0"), result("0"), "user")
    assert droppable(turns) == [[0, 1, 2], [3, 4, 5]]


def test_a_user_s_message_with_a_result_keeps_the_call_of_it() -> None:
    both: tuple[Role, tuple[Part, ...]] = ("user", (ToolResult((Text("r"),), "a"), Text("and now?")))
    assert droppable(talk("user", call("a"), both), keep_last=0) == []
    assert droppable(talk("user", call("a"), both, "assistant", "user"), keep_last=0) == [[0, 1, 2, 3]]


def test_something_always_stays() -> None:
    assert droppable(talk("assistant", "assistant"), keep_last=0) == []
    assert droppable(talk("assistant", "tool", "assistant"), keep_last=0) == [[0, 1]]
    assert droppable([], keep_last=0) == []


roles = st.sampled_from(["system", "user", "assistant", "tool", "call", "result"])


@given(st.lists(st.tuples(roles, st.integers(0, 3)), max_size=24), st.integers(0, 3), st.integers(0, 3))
def test_pairs_are_never_parted(turns: list[tuple[str, int]], first: int, last: int) -> None:
    made = {"call": call, "result": result}
    items = talk(*(made[role](str(name)) if role in made else role for role, name in turns))  # type: ignore[arg-type]
    groups = droppable(items, keep_first=first, keep_last=last)
    gone = [place for group in groups for place in group]
    assert len(gone) == len(set(gone))
    spoken = [at for at, (role, _) in enumerate(turns) if role != "system"]
    assert set(gone) <= set(spoken)
    assert not {*spoken[:first], *spoken[len(spoken) - min(last, len(spoken)) :]} & set(gone)
    users = [at for at, (role, _) in enumerate(turns) if role == "user"]
    assert not {*users[-1:]} & set(gone)
    group_of = {place: number for number, group in enumerate(groups) for place in group}
    called: dict[int, int] = {}
    for at, (role, name) in enumerate(turns):
        if role == "result" and name in called:
            assert group_of.get(at) == group_of.get(called[name])
        elif role == "call":
            called[name] = at


@given(st.integers(1, 300), st.integers(0, 320), st.integers(-5, 400))
def test_the_search_finds_the_least_in_few_steps(most: int, wanted: int, guess: int) -> None:
    asked: list[int] = []

    def fits(number: int) -> bool:
        asked.append(number)
        return number >= wanted

    assert least(most, fits, guess) == min(max(wanted, 1), most)
    assert len(asked) <= 20


def test_a_right_guess_is_proven_with_two_questions() -> None:
    asked: list[int] = []
    assert least(1000, lambda number: asked.append(number) or number >= 500, 500) == 500  # type: ignore[func-returns-value]
    assert sorted(asked) == [499, 500]


@pytest.mark.parametrize(
    ("window", "own", "limit", "output", "expected", "codes"),
    [
        (1000, 200, None, 100, 900, []),
        (1000, 200, None, None, 800, ["max_output_assumed"]),
        (1000, None, None, None, 1000, ["output_not_reserved"]),
        (1000, 1000, None, None, 1000, ["output_not_reserved"]),
        (1000, 200, None, 1000, 0, []),
        (1000, 200, 50, None, 50, []),
        (1000, 200, 950, 50, 950, []),
        (1000, 200, 951, 50, 951, ["limit_above_context"]),
        (None, 200, None, 50, None, []),
        (None, 200, 50, 50, 50, []),
    ],
)
def test_the_limit_is_given_or_what_the_output_leaves_of_the_window(
    window: int | None, own: int | None, limit: int | None, output: int | None, expected: int | None, codes: list[str]
) -> None:
    notices: list[Notice] = []
    spec = ModelSpec("acme", "large", context_window=window, max_output_tokens=own)
    assert room(spec, limit, output, notices) == expected
    assert [notice.code for notice in notices] == codes
