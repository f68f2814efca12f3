"""The price that a hold was made at, kept as text."""

from __future__ import annotations

import pytest

from service.domain.pricemark import PriceMark
from service.domain.prices import PriceContext


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (PriceMark(), ""),
        (PriceMark("5f4d8e175a91"), "5f4d8e175a91"),
        (PriceMark("5f4d", "ft:gpt-4o"), "5f4d model=ft:gpt-4o"),
        (
            PriceMark("5f4d", "a/b", PriceContext("batch", "us-east-1")),
            "5f4d model=a/b service_tier=batch region=us-east-1",
        ),
    ],
)
def test_a_mark_is_read_as_it_was_written(mark: PriceMark, text: str) -> None:
    assert str(mark) == text
    assert PriceMark.read(text) == mark


@pytest.mark.parametrize("region", ["two words", "nul\x00", "line\nbreak", "x" * 201, "=" * 3])
def test_a_region_that_is_no_plain_word_is_not_kept(region: str) -> None:
    assert str(PriceMark("5f4d", None, PriceContext("standard", region))) == "5f4d"
