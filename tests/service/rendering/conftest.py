"""A renderer over the shipped templates and vocabularies, at noon on 2026-11-30."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.loader import Vocabularies
from adapters.manifest import read_manifest
from adapters.port import Tokenizer
from service.domain.catalog import ModelSpec
from service.rendering.library import Library, read_library
from service.rendering.templates import ChatTemplate, TemplateRenderer, TemplateUse
from tests.service.rendering.chats import NOON


class AnyModel(TemplateRenderer):
    """A renderer that has one template for whatever model is asked about."""

    def __init__(self, template: ChatTemplate, tokenizers: dict[str, Tokenizer], *, allow_own: bool = False) -> None:
        use = TemplateUse("maker", ("*",), template.name)
        super().__init__({template.name: template}, [use], tokenizers, clock=lambda: NOON, allow_own=allow_own)


@pytest.fixture(scope="session")
def library() -> Library:
    return read_library()


@pytest.fixture(scope="session")
def vocabulary() -> Callable[[str], Tokenizer]:
    return Vocabularies(read_manifest().available(Path("nowhere"))).load


@pytest.fixture
def renderer(library: Library, vocabulary: Callable[[str], Tokenizer]) -> Callable[..., AnyModel]:
    """A renderer of one shipped template, or of a source, over one vocabulary."""

    def build(name: str = "own", tokenizer: str = "qwen3", *, source: str = "", allow_own: bool = False) -> AnyModel:
        template = ChatTemplate(name, source) if source else library.shipped[name]
        return AnyModel(template, {tokenizer: vocabulary(tokenizer)}, allow_own=allow_own)

    return build


def model(tokenizer: str = "qwen3") -> ModelSpec:
    return ModelSpec("maker", "any", tokenizer=tokenizer)
