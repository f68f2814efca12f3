"""A vendor's count in place of the one made here: bounds, accuracy, and parts that add up."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain import remote as module
from service.domain.counting import Breakdown, Count, TokenizerInfo
from service.domain.remote import (
    REMOTE_FAILURES,
    RemoteAsk,
    RemoteFailed,
    RemoteTokens,
    by_vendor,
    wants_vendor,
    without_vendor,
)
from service.domain.request import Image, Message, Request, Text, user_message

TEXT = RemoteAsk("anthropic", "m", user_message("hi"))
PICTURE = RemoteAsk("anthropic", "m", Request((Message("user", (Text("hi"), Image("p"))),)))


def local(parts: Breakdown, accuracy: str = "approximate", slack: int = 0) -> Count:
    tokens = parts.text + parts.framing + parts.tools + parts.images
    info = TokenizerInfo("t", "tiktoken", "native", "")
    bounds = (max(0, tokens - slack), tokens + slack)
    return Count("m", "anthropic", "exact", info, tokens, *bounds, accuracy, ("why",), 2, 2, None, None, parts, ())


parts = st.builds(Breakdown, *[st.integers(0, 10**6)] * 4)


@settings(deadline=None)
@given(parts=parts, answer=st.integers(0, 5 * 10**6), slack=st.integers(0, 10**6), ask=st.sampled_from([TEXT, PICTURE]))
def test_the_answer_is_the_vendors_within_bounds_and_its_parts_add_up(parts, answer, slack, ask):
    count = local(parts, slack=slack)
    found = by_vendor(count, RemoteTokens(answer), ask)
    assert found.tokens == answer
    assert 0 <= found.low <= answer <= found.high
    assert sum(asdict(found.breakdown).values()) == answer
    assert min(asdict(found.breakdown).values()) >= 0
    assert (found.accuracy, found.accuracy_reasons) == ("close", ("remote_estimate",))
    assert found.remote.local_tokens == count.tokens
    if ask is PICTURE:
        assert (found.low, found.high) == (min(answer, count.low), max(answer, count.high))
    else:
        assert (found.low, found.high) == (answer, answer)


@pytest.mark.parametrize(
    ("answer", "parts"), [(9, (3, 3, 2, 1)), (12, (3, 6, 2, 1)), (4, (3, 0, 0, 1)), (2, (2, 0, 0, 0))]
)
def test_framing_gives_way_first_and_text_last(answer, parts):
    found = by_vendor(local(Breakdown(3, 3, 2, 1)), RemoteTokens(answer), PICTURE)
    assert found.breakdown == Breakdown(*parts)


def test_an_exact_count_stays_exact_only_where_the_vendor_agrees():
    exact = local(Breakdown(6, 7), "exact")
    same = by_vendor(exact, RemoteTokens(13), TEXT)
    assert (same.accuracy, same.accuracy_reasons, same.low, same.high) == ("exact", (), 13, 13)
    other = by_vendor(exact, RemoteTokens(11), TEXT)
    assert (other.accuracy, other.low, other.high) == ("close", 11, 13)
    assert [notice.code for notice in other.warnings] == ["remote_differs"]


@pytest.mark.parametrize(
    ("mode", "accuracy", "wanted"),
    [
        ("never", "approximate", False),
        ("when_inexact", "exact", False),
        ("when_inexact", "close", True),
        ("when_inexact", "unknown", True),
        ("always", "exact", True),
    ],
)
def test_when_the_vendor_is_asked(mode, accuracy, wanted):
    assert wants_vendor(mode, local(Breakdown(1), accuracy)) is wanted


def test_every_failure_has_words_and_leaves_the_count_alone():
    assert set(module._MESSAGES) == set(REMOTE_FAILURES)
    count = local(Breakdown(3, 3))
    for reason in REMOTE_FAILURES:
        left = without_vendor(count, RemoteFailed(reason))
        assert (left.tokens, left.low, left.high, left.accuracy) == (6, 6, 6, "approximate")
        assert [(n.code, n.path, f"({reason})" in n.message) for n in left.warnings] == [
            ("remote_failed", "remote", True)
        ]
