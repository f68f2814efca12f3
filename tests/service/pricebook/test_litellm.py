"""LiteLLM's price file as rows, and its disagreements with a price book; entries follow the shapes of its 1.110.2."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from service.domain.prices import PriceBook, PriceRow, Rate, Tier, Window
from service.domain.resolution import Host
from service.pricebook.canaries import Canary, Difference, differences, read_canaries
from service.pricebook.litellm import Imported, Note, import_rows

HOSTS = [
    Host("openai", prefixes=("openai/",)),
    Host("xai", prefixes=("xai/",)),
    Host("vertex_ai", prefixes=("vertex_ai/",)),
    Host("alibaba", names=("dashscope",), prefixes=("dashscope/",)),
]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def imported(entry: dict[str, Any], key: str = "large", provider: str = "openai", **options: Any) -> Imported:
    body = json.dumps({"sample_spec": {"input_cost_per_token": 0.0}, key: {"litellm_provider": provider} | entry})
    return import_rows(body.encode(), HOSTS, **options)


def rates(entry: dict[str, Any], **options: Any) -> dict[str, str]:
    (row,) = imported(entry, **options).rows
    return {key: f"{rate.base.normalize():f}" for key, rate in row.rates.items()}


def test_dollars_per_token_become_exact_dollars_per_million() -> None:
    found = rates({"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "max_input_tokens": 128000})
    assert found == {"input_mtok": "2.5", "output_mtok": "10"}
    # 3 * 1.1e-7 in floating point is 3.3000000000000004e-07; the text of the file counts
    assert rates({"input_cost_per_token": 3.3e-07}) == {"input_mtok": "0.33"}


@pytest.mark.parametrize(
    ("key", "value", "mode", "unit", "expected"),
    [
        ("cache_read_input_token_cost", 1.25e-06, "chat", "cache_read_mtok", "1.25"),
        ("cache_creation_input_token_cost", 6.25e-06, "chat", "cache_write_mtok", "6.25"),
        ("cache_creation_input_token_cost_above_1hr", 1e-05, "chat", "cache_write_1h_mtok", "10"),
        ("input_cost_per_audio_token", 4e-05, "chat", "input_audio_mtok", "40"),
        ("output_cost_per_image_token", 3e-05, "chat", "output_image_mtok", "30"),
        ("output_cost_per_reasoning_token", 4e-06, "chat", "output_reasoning_mtok", "4"),
        ("input_cost_per_character", 1.5e-05, "audio_speech", "input_mchars", "15"),
        ("output_cost_per_image", 0.04, "image_generation", "output_images", "0.04"),
        ("output_cost_per_video_per_second", 0.1, "video_generation", "output_video_seconds", "0.1"),
        ("output_cost_per_second", 0.1, "video_generation", "output_video_seconds", "0.1"),
        ("input_cost_per_second", 0.0001, "audio_transcription", "input_audio_hours", "0.36"),
        ("input_cost_per_query", 0.002, "rerank", "rerank_searches_kcount", "2"),
        ("ocr_cost_per_page", 0.004, "ocr", "input_document_kpages", "4"),
        ("input_cost_per_request", 0.005, "chat", "requests_kcount", "5"),
    ],
)
def test_every_unit_is_priced_per_so_many_as_its_key_says(
    key: str, value: float, mode: str, unit: str, expected: str
) -> None:
    assert rates({key: value, "mode": mode})[unit] == expected


def test_lengths_become_tiers_and_a_suffix_a_service_tier() -> None:
    found = imported(
        {
            "input_cost_per_token": 2.5e-06,
            "input_cost_per_token_above_272k_tokens": 5e-06,
            "cache_creation_input_token_cost_above_1hr": 1e-05,
            "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 2e-05,
            "input_cost_per_token_batches": 1.25e-06,
            "input_cost_per_token_above_272k_tokens_batches": 2.5e-06,
            "input_cost_per_token_flex": 1.2e-06,
            "input_cost_per_token_priority": 5e-06,
        }
    )
    rows = {row.service_tier: row for row in found.rows}
    assert list(rows) == ["standard", "batch", "flex", "priority"]
    assert rows["standard"].rates["input_mtok"].tiers == (Tier(272000, Decimal(5)),)
    assert rows["standard"].rates["cache_write_1h_mtok"].tiers == (Tier(200000, Decimal(20)),)
    assert rows["batch"].rates["input_mtok"].tiers == (Tier(272000, Decimal("2.5")),)
    assert rows["priority"].rates["input_mtok"] == Rate(Decimal(5))
    assert found.notes == ()


def test_ranges_of_length_become_tiers_above_their_lower_end() -> None:
    steps = [
        {"range": [0, 32000.0], "input_cost_per_token": 1.2e-06, "output_cost_per_token": 6e-06},
        {"range": [32000.0, 128000.0], "input_cost_per_token": 2.4e-06, "output_cost_per_token": 1.2e-05},
        {"range": [128000.0, 252000.0], "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05},
    ]
    (row,) = imported({"tiered_pricing": steps}, "dashscope/qwen", "dashscope").rows
    assert (row.provider, row.model) == ("alibaba", "qwen")
    assert row.rates["input_mtok"].base == Decimal("1.2")
    assert row.rates["input_mtok"].tiers == (Tier(32000, Decimal("2.4")), Tier(128000, Decimal(3)))
    assert row.rates["output_mtok"].at(32001)[0] == 12


def test_a_providers_thresholds_are_reached_where_the_caller_says_so() -> None:
    entry = {"input_cost_per_token": 2e-06, "input_cost_per_token_above_200k_tokens": 4e-06}
    (row,) = imported(entry, "xai/g", "xai").rows
    assert row.rates["input_mtok"].tiers == (Tier(200000, Decimal(4), inclusive=True),)


def test_off_peak_hours_become_a_row_of_their_own() -> None:
    windows = [
        {"hours_utc": ["00:00-01:00", "10:00-00:00"], "weekdays": [1, 2, 3, 4, 5]},
        {"hours_utc": "00:00-00:00", "weekdays": [6, 7]},
    ]
    off_peak = {"input_cost_per_token": 1.5e-07, "windows": windows}
    peak, low = imported({"input_cost_per_token": 3e-07, "off_peak_pricing": off_peak}).rows
    assert (peak.windows, str(peak.rates["input_mtok"].base.normalize())) == ((), "0.3")
    weekdays, weekend = frozenset(range(5)), frozenset({5, 6})
    assert low.windows == (
        Window(weekdays, time(), time(1)),
        Window(weekdays, time(10), time()),
        Window(weekend, time(), time()),
    )
    assert str(low.rates["input_mtok"].base.normalize()) == "0.15"


def test_hours_that_cannot_be_read_refuse_the_entry() -> None:
    off_peak = {"input_cost_per_token": 1.5e-07, "windows": [{"hours_utc": "at night"}]}
    found = imported({"input_cost_per_token": 3e-07, "off_peak_pricing": off_peak})
    assert found == Imported((), (Note("large", "its hours cannot be read"),))


def test_a_search_has_a_price_where_all_sizes_cost_the_same_and_in_every_tier() -> None:
    sizes = {f"search_context_size_{size}": 0.01 for size in ("low", "medium", "high")}
    found = imported(
        {
            "input_cost_per_token": 1e-06,
            "input_cost_per_token_batches": 5e-07,
            "search_context_cost_per_query": sizes,
        }
    )
    assert [str(row.rates["web_searches_kcount"].base.normalize()) for row in found.rows] == ["1E+1", "1E+1"]
    sizes["search_context_size_high"] = 0.02
    other = imported({"input_cost_per_token": 1e-06, "search_context_cost_per_query": sizes})
    assert "web_searches_kcount" not in other.rows[0].rates
    assert other.notes == (Note("large", "web searches of several prices"),)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"input_cost_per_token": 0, "output_cost_per_token": 0.0}, "no rate above 0"),
        ({"mode": "chat"}, "no rate above 0"),
        ({"input_cost_per_token": -1e-06, "output_cost_per_token": 1e-06}, "cannot be right"),
        ({"input_cost_per_token": 0.015}, "cannot be right"),  # 15,000 dollars a million
        ({"input_cost_per_token": 1e-06, "input_cost_per_token_batches": 0.015}, "cannot be right"),
    ],
)
def test_stubs_negatives_and_slips_of_unit_are_refused_and_named(entry: dict[str, Any], reason: str) -> None:
    found = imported(entry)
    assert found.rows == ()
    ((key, why),) = found.notes
    assert (key, reason in why) == ("large", True)


def test_a_zero_among_rates_is_left_out_and_not_a_price() -> None:
    assert rates({"input_cost_per_token": 1e-06, "cache_creation_input_token_cost": 0.0}) == {"input_mtok": "1"}


def test_what_has_no_unit_is_named_and_the_rest_is_kept() -> None:
    found = imported({"input_cost_per_token": 1e-06, "input_cost_per_token_ultrafast": 3e-06})
    assert len(found.rows) == 1
    assert found.notes == (Note("large", "no unit for input_cost_per_token_ultrafast"),)


def test_a_rate_with_the_digits_of_a_slip_is_kept_exactly_and_named() -> None:
    found = imported({"input_cost_per_token": 8.749999999999999e-07})
    assert found.rows[0].rates["input_mtok"].base == Decimal("0.8749999999999999")
    assert found.notes == (Note("large", "input_mtok has more digits than a price has"),)


def test_parts_of_a_provider_are_the_provider_and_a_strange_one_is_named() -> None:
    (row,) = imported({"input_cost_per_token": 1e-06}, "vertex_ai/Big@001", "vertex_ai-mistral_models").rows
    assert (row.provider, row.model) == ("vertex_ai", "big@001")
    assert imported({"input_cost_per_token": 1e-06}, provider="nobody").notes == (Note("large", "unknown provider"),)


def test_two_entries_for_one_model_make_one_row_and_a_note_where_they_differ() -> None:
    def both(second: float) -> Imported:
        body = {
            "large": {"litellm_provider": "openai", "input_cost_per_token": 1e-06},
            "openai/large": {"litellm_provider": "openai", "input_cost_per_token": second},
        }
        return import_rows(json.dumps(body).encode(), HOSTS)

    assert (len(both(1e-06).rows), both(1e-06).notes) == (1, ())
    assert [note.key for note in both(2e-06).notes] == ["openai/large"]
    assert both(2e-06).rows[0].rates["input_mtok"].base == 1


def known(model: str, *tiers: str, rates: dict[str, Rate] | None = None) -> PriceBook:
    found = {"input_mtok": Rate(Decimal(9))} if rates is None else rates
    return PriceBook([[PriceRow("openai", model, found, service_tier=tier) for tier in tiers]])


def test_only_models_and_tiers_that_a_book_lacks_are_kept_on_request() -> None:
    entry = {"input_cost_per_token": 1e-06, "input_cost_per_token_batches": 5e-07}

    def tiers(book: PriceBook) -> list[str]:
        return [row.service_tier for row in imported(entry, lacking_in=book).rows]

    assert tiers(known("small", "standard")) == ["standard", "batch"]
    assert tiers(known("large", "standard")) == ["batch"]
    assert tiers(known("large", "standard", "batch")) == []
    assert tiers(known("large", "standard", "batch", rates={})) == ["standard", "batch"]


def test_rows_say_where_they_are_from() -> None:
    entry = {"input_cost_per_token": 1e-06, "source": "a price page"}
    (own,), (given,) = imported(entry).rows, imported(entry, source="me", checked="2026-11-29").rows
    assert (own.source, own.checked) == ("a price page", "")
    assert (given.source, given.checked) == ("me", "2026-11-29")


@pytest.mark.parametrize("body", [b"", b"[]", b'{"a": 1}', b'{"a": {"input_cost_per_token": NaN}}', b"\xff"])
def test_a_file_of_another_kind_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the JSON parser's own messages count too
        import_rows(body, HOSTS)


@pytest.mark.parametrize(
    "entry",
    [
        {"tiered_pricing": [{"range": 5, "input_cost_per_token": 1e-06}]},
        {"tiered_pricing": [3]},
        {"input_cost_per_token": 1e-06, "off_peak_pricing": {"windows": [{"weekdays": ["x"], "hours_utc": "1"}]}},
        {"input_cost_per_token": 1e-06, "off_peak_pricing": {"windows": [{"hours_utc": "25:00-26:00"}]}},
    ],
)
def test_an_entry_of_another_shape_is_named_and_stops_nothing(entry: dict[str, Any]) -> None:
    assert imported(entry) == Imported((), (Note("large", "cannot be read"),))


def compare(
    ours: dict[str, Rate], theirs: dict[str, Any], at: datetime = NOON
) -> list[tuple[str, str | None, str | None]]:
    book = PriceBook([[PriceRow("openai", "large", ours)]])
    found = differences(
        book, json.dumps({"their-large": theirs}).encode(), [Canary("openai", "large", "their-large")], at=at
    )
    return [(item.what, item.ours, item.theirs) for item in found]


OURS = {"input_mtok": Rate(Decimal("2.50"), (Tier(200000, Decimal(5)),)), "output_mtok": Rate(Decimal(10))}
THEIRS = {
    "input_cost_per_token": 2.5e-06,
    "input_cost_per_token_above_200k_tokens": 5e-06,
    "output_cost_per_token": 1e-05,
}


def test_lists_that_say_the_same_have_no_difference() -> None:
    assert compare(OURS, THEIRS) == []


def test_a_difference_names_the_rate_and_both_prices() -> None:
    assert compare(OURS, THEIRS | {"output_cost_per_token": 1.2e-05}) == [("output_mtok", "10", "12")]
    assert compare(OURS, THEIRS | {"input_cost_per_token_above_200k_tokens": 6e-06}) == [
        ("input_mtok above 200000", "5", "6")
    ]
    assert compare(OURS, THEIRS | {"cache_read_input_token_cost": 1e-06}) == [("cache_read_mtok", None, "1")]
    assert compare(OURS, {key: value for key, value in THEIRS.items() if "above" not in key}) == [
        ("input_mtok above 200000", "5", None)
    ]


def test_a_model_that_one_side_lacks_is_one_difference() -> None:
    assert compare({}, THEIRS) == [("price", None, "2.5")]
    assert compare(OURS, {"input_cost_per_token": 0}) == [("price", "2.5", None)]


def test_the_hours_of_both_lists_are_compared_at_the_same_time() -> None:
    off_peak = {"input_cost_per_token": 1e-06, "windows": [{"hours_utc": "12:00-13:00", "weekdays": [1]}]}
    theirs = {"input_cost_per_token": 2.5e-06, "off_peak_pricing": off_peak}
    ours = {"input_mtok": Rate(Decimal("2.5"))}
    assert compare(ours, theirs, NOON) == [("input_mtok", "2.5", "1")]
    assert compare(ours, theirs, NOON.replace(hour=13)) == []


def test_the_package_names_forty_canaries_once_each() -> None:
    canaries = read_canaries()
    assert len(canaries) == len({(canary.provider, canary.model) for canary in canaries}) == 40
    assert all(canary.key for canary in canaries)


def test_a_difference_says_of_which_canary_it_is(tmp_path: Path) -> None:
    path = tmp_path / "canaries.toml"
    path.write_text('[[canary]]\nprovider = "openai"\nmodel = "x"\nlitellm = "y"\n')
    (canary,) = read_canaries(path)
    assert differences(PriceBook([]), b"{}", [canary], at=NOON) == [Difference(canary, "price", None, None)]
