"""Resolution of names and the arithmetic of estimates, on a small catalog of its own; no data file is read."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.configfile import load_catalog
from service.domain.catalog import Accuracy, Catalog, Estimator, ModelSpec, Resolution, clashes, merge
from service.domain.errors import NoTokenizer, UnknownModel, UnknownProvider
from service.domain.resolution import Host, Nearest, Rule, fine_tuned_base, undated

MODELS = (
    ModelSpec("openai", "gpt-4", ("gpt-4-0613",), tokenizer="cl100k_base", accuracy=Accuracy.EXACT),
    ModelSpec("openai", "gpt-4o", tokenizer="o200k_base", accuracy=Accuracy.EXACT),
    ModelSpec("openai", "gpt-4o-mini", tokenizer="o200k_base", accuracy=Accuracy.EXACT),
    ModelSpec("openai", "gpt-4.1", tokenizer="o200k_base", accuracy=Accuracy.EXACT),
    ModelSpec("openai", "gpt-3.5-turbo", tokenizer="cl100k_base", accuracy=Accuracy.EXACT),
    ModelSpec("anthropic", "claude-opus-4-1", ("claude-opus-4.1",), tokenizer="words", accuracy=Accuracy.EXACT),
    ModelSpec("anthropic", "claude-sonnet-4-5", ("claude-sonnet-4.5",), tokenizer="words", accuracy=Accuracy.EXACT),
    ModelSpec("meta", "llama-3.3-70b-instruct", tokenizer="llama3", accuracy=Accuracy.EXACT),
    ModelSpec("acme", "priced-only"),
    ModelSpec("azure", "gpt-4o-of-ours", tokenizer="o200k_base", accuracy=Accuracy.EXACT),
    ModelSpec("azure", "gpt-4", tokenizer="o200k_base", accuracy=Accuracy.EXACT),
)
HOSTS = (
    Host("openai", prefixes=("openai/",)),
    Host("anthropic", prefixes=("anthropic/",)),
    Host("meta", prefixes=("meta/", "meta-llama/")),
    Host("openrouter", prefixes=("openrouter/",), vendors=("*",), drop_suffixes=(":free", ":nitro")),
    Host(
        "azure",
        prefixes=("azure/", "azure_ai/"),
        names=("azure_ai",),
        vendors=("openai", "meta"),
        drop_prefixes=("eu/",),
        aliases={"gpt-35-turbo": "gpt-3.5-turbo"},
    ),
    Host(
        "bedrock",
        prefixes=("bedrock/",),
        vendors=("anthropic", "meta"),
        marks=("anthropic.", "us.anthropic."),
        drop_prefixes=("us-east-1/", "us.", "anthropic.", "meta."),
        drop_suffixes=("-v1:0", ":0"),
    ),
)
CATALOG = Catalog(MODELS, HOSTS)


def found(name: str, provider: str | None = None) -> tuple[str, str, str]:
    resolution = CATALOG.resolve(name, provider)
    return resolution.provider, resolution.model.id, resolution.rule.value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4o", ("openai", "gpt-4o", "exact")),
        (" GPT-4O\n", ("openai", "gpt-4o", "exact")),
        ("gpt 4o  mini", ("openai", "gpt-4o-mini", "exact")),
        ("gpt-4-0613", ("openai", "gpt-4", "alias")),
        ("claude-opus-4.1", ("anthropic", "claude-opus-4-1", "alias")),
        ("gpt-4o-2024-08-06", ("openai", "gpt-4o", "dated_suffix")),
        ("claude-opus-4-1-20250805", ("anthropic", "claude-opus-4-1", "dated_suffix")),
        ("claude-opus-4-1@20250805", ("anthropic", "claude-opus-4-1", "dated_suffix")),
        ("claude-opus-4.1-20250805", ("anthropic", "claude-opus-4-1", "dated_suffix")),
        ("ft:gpt-4o-mini-2024-07-18:org::id", ("openai", "gpt-4o-mini", "fine_tuned")),
        ("ft:gpt-4.1", ("openai", "gpt-4.1", "fine_tuned")),
        ("gpt-4o-mini-2024-07-18.ft-0123abc", ("openai", "gpt-4o-mini", "fine_tuned")),
    ],
)
def test_a_name_resolves_by_the_first_rule_that_fits(name: str, expected: tuple[str, str, str]) -> None:
    assert found(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("azure/gpt-4o", ("azure", "gpt-4o", "exact")),
        ("Azure/GPT-35-Turbo", ("azure", "gpt-3.5-turbo", "alias")),
        ("azure/eu/gpt-4o-2024-08-06", ("azure", "gpt-4o", "dated_suffix")),
        ("azure_ai/llama-3.3-70b-instruct", ("azure", "llama-3.3-70b-instruct", "exact")),
        ("azure/ft:gpt-4o-2024-08-06:org::id", ("azure", "gpt-4o", "fine_tuned")),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", ("bedrock", "claude-sonnet-4-5", "dated_suffix")),
        ("bedrock/us-east-1/anthropic.claude-sonnet-4-5", ("bedrock", "claude-sonnet-4-5", "exact")),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ("bedrock", "claude-sonnet-4-5", "dated_suffix")),
        ("openrouter/anthropic/claude-sonnet-4.5", ("openrouter", "claude-sonnet-4-5", "alias")),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", ("openrouter", "llama-3.3-70b-instruct", "exact")),
        ("meta-llama/Llama-3.3-70B-Instruct", ("meta", "llama-3.3-70b-instruct", "exact")),
        ("openai/gpt-4o", ("openai", "gpt-4o", "exact")),
    ],
)
def test_a_prefix_selects_the_seller_and_the_model_stays_the_vendors(name: str, expected: tuple[str, str, str]) -> None:
    assert found(name) == expected


@pytest.mark.parametrize(
    ("name", "provider", "expected"),
    [
        ("gpt-4o", "azure", ("azure", "gpt-4o", "exact")),
        ("gpt-4o", " AZURE_AI ", ("azure", "gpt-4o", "exact")),
        ("azure/gpt-4o", "azure", ("azure", "gpt-4o", "exact")),
        ("anthropic/claude-opus-4.1", "openrouter", ("openrouter", "claude-opus-4-1", "alias")),
        ("gpt-4o", "openai", ("openai", "gpt-4o", "exact")),
    ],
)
def test_a_provider_field_selects_the_seller(name: str, provider: str, expected: tuple[str, str, str]) -> None:
    assert found(name, provider) == expected


# A01, A02, A04, A07, A13: no part of a name decides, however much of it is known.
@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-mini-tuned",
        "my-gpt-4o",
        "gpt",
        "gpt-4o-preview-tts",
        "agent_8k_x",
        "azure/wrapper-api-gpt-4o",
        "azure/claude-opus-4-1",
        "bedrock/gpt-4o",
        "openai/claude-opus-4-1",
        "anthropic/gpt-4o",
        "openrouter/anthropic/gpt-4o",
        "gpt-4o-2024-13-01",
        "gpt-4o-99999999",
        "gpt-4o-2024-W01",
        "2024-08-06",
        "-20240806",
        "ft:",
        "ft:unknown:org::id",
        "ft:ft:gpt-4o",
        "azure/",
        "/",
        "",
        " ",
        "\ud83d",
        "gpt-4o\0",
        "ｇｐｔ-4o",
    ],
)
def test_a_name_that_is_not_whole_in_the_catalog_is_unknown(name: str) -> None:
    with pytest.raises(UnknownModel):
        CATALOG.resolve(name)


def test_a_vendors_model_is_not_found_at_another_provider() -> None:
    with pytest.raises(UnknownModel):
        CATALOG.resolve("gpt-4o", "anthropic")
    with pytest.raises(UnknownModel):
        CATALOG.resolve("bedrock/us.anthropic.claude-sonnet-4-5", "azure")


def test_an_unknown_provider_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownProvider) as refused:
        CATALOG.resolve("gpt-4o", "azur")
    assert refused.value.nearest == ("azure",)
    assert refused.value.code == "unknown_model"
    assert str(refused.value).startswith("Unknown provider. Nearest: azure.")


def test_a_bare_name_means_the_vendor_and_a_sellers_own_row_answers_where_no_vendor_has_it() -> None:
    assert found("gpt-4") == ("openai", "gpt-4", "exact")
    assert CATALOG.resolve("gpt-4", "azure").model.provider == "azure"
    assert found("azure/gpt-4o-of-ours") == ("azure", "gpt-4o-of-ours", "exact")
    assert found("gpt-4o-of-ours") == ("azure", "gpt-4o-of-ours", "exact")


def test_the_name_as_the_seller_writes_it_is_kept_for_the_price() -> None:
    assert CATALOG.resolve("azure/eu/gpt-4o-2024-08-06").requested == "eu/gpt-4o-2024-08-06"
    assert CATALOG.resolve("us.anthropic.claude-sonnet-4-5-v1:0").requested == "us.anthropic.claude-sonnet-4-5-v1:0"
    assert CATALOG.resolve("gpt-4o").requested == "gpt-4o"


def test_a_model_without_vocabulary_or_stand_in_is_found_but_not_counted() -> None:
    assert CATALOG.find("acme/priced-only").model.id == "priced-only"
    with pytest.raises(NoTokenizer) as refused:
        CATALOG.resolve("priced-only")
    assert refused.value.code == "no_tokenizer"


def test_a_missing_vocabulary_is_named_with_what_installs_it() -> None:
    assert "weighbridge vocab add llama3" in str(NoTokenizer("llama3"))


def test_an_unknown_model_is_answered_with_the_nearest_ids_and_never_with_the_name_itself() -> None:
    with pytest.raises(UnknownModel) as refused:
        CATALOG.resolve("gpt-4oo")
    assert refused.value.nearest[0] == "gpt-4o"
    assert str(refused.value).startswith("Unknown model. Nearest: gpt-4o, ")
    assert "gpt-4oo" not in str(refused.value)


@pytest.mark.parametrize("name", ["x" * 201, "x" * 10_000, "/" * 10_000, "gpt-4o" * 2_000])
def test_a_very_long_name_is_refused_without_a_search(name: str) -> None:
    with pytest.raises(UnknownModel) as refused:
        CATALOG.resolve(name)
    assert refused.value.nearest == ()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.none() | st.text(max_size=20) | st.sampled_from(["azure", "bedrock", "openrouter"]))
def test_any_name_either_resolves_or_is_unknown(name: str, provider: str | None) -> None:
    try:
        resolution = CATALOG.find(name, provider)
    except UnknownModel:
        return
    assert resolution.model in MODELS


@given(st.sampled_from([model.id for model in MODELS]), st.text(alphabet="abcxyz0189-./:@ ", min_size=1, max_size=12))
def test_nothing_but_a_date_or_a_blank_may_follow_an_id(model: str, tail: str) -> None:
    try:
        resolution = CATALOG.find(model + tail)
    except UnknownModel:
        return
    # "gpt-4" + "o" and the like are ids themselves; what is left is a date, or nothing once blanks are off.
    rest = " ".join((model + tail).split()).replace(" ", "-").removeprefix(resolution.model.id)
    assert rest == "" or undated("x" + rest) == "x"


def test_the_index_holds_no_name_that_a_caller_made_up() -> None:
    catalog = Catalog(MODELS, HOSTS)
    before = {name: len(value) for name, value in vars(catalog).items() if hasattr(value, "__len__")}
    for i in range(50):
        with pytest.raises(UnknownModel):
            catalog.resolve(f"gpt-4o-{i}x")
        catalog.resolve(f"ft:gpt-4o:org::{i}")
        catalog.resolve(f"gpt-4o-2024-01-{i % 28 + 1:02d}")
    assert {name: len(value) for name, value in vars(catalog).items() if hasattr(value, "__len__")} == before


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a-2024-08-06", "a"),
        ("a-20240806", "a"),
        ("a@20240806", "a"),
        ("a@2024-08-06", None),
        ("a-2024-02-30", None),
        ("a-2024-W01", None),
        ("a-2024080", None),
        ("a_20240806", None),
        ("a-２０２４０８０６", None),
        ("-2024-08-06", None),
        ("", None),
    ],
)
def test_only_a_real_date_is_taken_off(name: str, plain: str | None) -> None:
    assert undated(name) == plain


@pytest.mark.parametrize(
    ("name", "base"), [("ft:a:b::c", "a"), ("ft:a", "a"), ("a.ft-1", "a"), ("a:ft", None), ("aft:b", None)]
)
def test_a_fine_tune_names_its_base(name: str, base: str | None) -> None:
    assert fine_tuned_base(name) == base


def test_the_nearest_names_come_best_first_and_nothing_unlike_comes_at_all() -> None:
    nearest = Nearest(["gpt-4o", "gpt-4o-mini", "claude-3-opus"])
    assert nearest.search("gpt-4o-min") == ("gpt-4o-mini", "gpt-4o")
    assert nearest.search("qqqq") == ()
    assert nearest.search("gpt-4o", limit=1) == ("gpt-4o",)


def test_a_name_beyond_200_characters_is_compared_with_none() -> None:
    nearest = Nearest(["x" * 200, "x" * 201])
    assert nearest.search("x" * 200, limit=1) == ("x" * 200,)
    assert nearest.search("x" * 201) == ()


def test_an_id_is_stronger_than_another_models_alias() -> None:
    models = [ModelSpec("a", "new", ("old",)), ModelSpec("a", "old")]
    assert Catalog(models).find("old").model.id == "old"
    assert Catalog(models[::-1]).find("old").model.id == "old"


def test_two_models_that_claim_one_name_are_seen() -> None:
    assert clashes(MODELS) == []
    assert clashes([*MODELS, ModelSpec("openai", "other", ("gpt-4o",))]) == [("openai", "gpt-4o")]
    assert clashes([*MODELS, ModelSpec("meta", "gpt-4o")]) == []


def test_a_later_model_replaces_the_one_with_its_id_and_takes_its_aliases_from_others() -> None:
    mine = ModelSpec("openai", "gpt-4", ("gpt-4o", "gpt-4-0613"), tokenizer="mine", accuracy=Accuracy.EXACT)
    merged = Catalog(merge(MODELS, [mine]), HOSTS)
    assert merged.resolve("gpt-4o").model is mine
    assert merged.resolve("gpt-4").model is mine
    assert merged.resolve("gpt-4o-mini").model.tokenizer == "o200k_base"
    assert clashes(merged.models) == []


def test_a_later_alias_leaves_the_other_names_of_the_model_it_is_taken_from() -> None:
    base = [ModelSpec("openai", "a", ("b", "c"))]
    merged = merge(base, [ModelSpec("openai", "d", ("c",))])
    assert [(model.id, model.aliases) for model in merged] == [("a", ("b",)), ("d", ("c",))]


def test_the_worst_accuracy_wins() -> None:
    assert Accuracy.worst([Accuracy.EXACT, Accuracy.APPROXIMATE, Accuracy.CLOSE]) is Accuracy.APPROXIMATE
    assert Accuracy.worst([Accuracy.CLOSE, Accuracy.UNKNOWN]) is Accuracy.UNKNOWN
    assert Accuracy.worst([]) is Accuracy.EXACT
    assert sorted(Accuracy, key=lambda accuracy: accuracy.rank) == ["exact", "close", "approximate", "unknown"]


HALF = Estimator("words", factor=Decimal("0.5"), low=Decimal("0.4"), high=Decimal("1.5"), slack=2)


@pytest.mark.parametrize(
    ("count", "bounds"),
    [
        (0, (0, 0, 0)),
        (1, (1, 1, 4)),  # round(0.5) is 0, and a text that is not empty has a token
        (10, (5, 2, 17)),
        (13, (6, 3, 22)),  # round(6.5) to even, floor(5.2) - 2, ceil(19.5) + 2
        (1000, (500, 398, 1502)),
    ],
)
def test_the_bounds_are_the_factors_and_the_slack(count: int, bounds: tuple[int, int, int]) -> None:
    assert HALF.bounds(count) == bounds


@given(st.integers(0, 10**9), st.text(max_size=80))
def test_the_estimate_lies_within_its_bounds_and_never_below_zero(count: int, text: str) -> None:
    tokens, low, high = HALF.bounds(count, text)
    assert 0 <= low <= tokens <= high


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_higher_count_never_lowers_a_bound(one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert all(a <= b for a, b in zip(HALF.bounds(less), HALF.bounds(more), strict=True))


PLAIN = "Weigh every prompt before it is sent, then settle."


def test_a_text_that_does_not_repeat_has_the_plain_bounds() -> None:
    assert HALF.bounds(10, PLAIN) == HALF.bounds(10)


@pytest.mark.parametrize("unit", ["a", "ab", "abc", "-=-=", "&nbsp;", "中"])
def test_a_stretch_that_repeats_widens_both_bounds_by_its_bytes(unit: str) -> None:
    repeated = len(unit.encode()) * (600 // len(unit.encode()))
    text = PLAIN + unit * (600 // len(unit.encode()))
    _, low, high = HALF.bounds(2000, text)
    assert low <= 798 - repeated + 24
    assert high >= 3002 + repeated - 24


def test_repeated_white_space_lowers_the_low_bound_alone() -> None:
    _, low, high = HALF.bounds(2000, PLAIN + " " * 600 + PLAIN)
    assert 798 - 620 < low <= 798 - 580
    assert high == 3002


def test_each_emoji_may_cost_two_more() -> None:
    assert HALF.bounds(10, "so 👍 and 🎉")[2] == HALF.bounds(10)[2] + 4


def test_words_in_capitals_raise_the_high_bound_where_the_estimator_says_so() -> None:
    loud = Estimator("words", factor=Decimal(1), low=Decimal(1), high=Decimal(1), slack=0, capitals=Decimal("0.5"))
    assert loud.bounds(5, "NO WARRANTY, I say, É") == (5, 5, 9)  # 1 + 7 letters that follow a capital, halved
    assert HALF.bounds(5, "NO WARRANTY, I say, É") == HALF.bounds(5)


def test_an_estimator_without_repeats_looks_at_the_count_alone() -> None:
    plain = Estimator("words", factor=Decimal(1), low=Decimal(1), high=Decimal(1), slack=0, repeats=False)
    assert plain.bounds(7, "👍" * 100) == (7, 7, 7)


def test_a_lone_surrogate_has_bounds() -> None:
    assert HALF.bounds(10, "\ud83d" * 100)[0] == 5


def test_a_resolution_is_made_of_the_catalogs_own_parts() -> None:
    assert CATALOG.resolve("gpt-4o") == Resolution(MODELS[1], "openai", Rule.EXACT, "gpt-4o")


@pytest.mark.parametrize("text", ["\x01\x02\x1f" * 300, "\ue000\uf8ff" * 200])
def test_characters_that_a_vendor_may_drop_lower_the_low_bound(text):
    estimator = Estimator("t", Decimal(1), Decimal("0.5"), Decimal(2))
    assert estimator.bounds(len(text.encode()), text)[1] == 0


@pytest.mark.parametrize(
    "name",
    [
        *("anthropic.gpt-4o", "bedrock/openai.claude-sonnet-4-5", "bedrock/meta.claude-sonnet-4-5"),
        *("bedrock/anthropic.llama-3.1-8b-instruct", "bedrock/anthropic.meta.amazon.claude-sonnet-4-5"),
        *("bedrock/us.us.claude-sonnet-4-5", "publishers/google/models/claude-sonnet-4-5"),
        *("publishers/anthropic/models/gemini-2.5-pro", "deepsee\u212a-chat", "gpt-4o-0001-01-01", "gpt-4o-2099-12-31"),
    ],
)
def test_a_name_that_contradicts_itself_is_unknown(name):
    with pytest.raises(UnknownModel):
        load_catalog().find(name)
