"""Chats for open models through the whole service: rendered by the model's own template, pictures sized."""

import asyncio
import base64
import threading
from pathlib import Path
from typing import Any

import pytest

from service.api.services import Services, run
from service.app import build_app, build_services
from service.settings import Settings
from tests.service.conftest import Api
from tests.service.rendering.chats import CHATS
from tests.service.rendering.test_pictures import png
from tests.service.rendering.test_templates import KNOWN

HELLO = [{"role": "user", "content": "Hello!"}]


@pytest.mark.parametrize(
    ("model", "template"),
    [
        ("qwen2.5-7b-instruct", "qwen2_5"),
        ("qwen3-8b", "qwen3"),
        ("qwen3.5-9b", "qwen3_5"),
        ("deepseek-v3", "deepseek_v3"),
        ("open-mistral-7b", "mistral_v3"),
        ("mistral-large-2411", "mistral_v7"),
    ],
)
@pytest.mark.parametrize("chat", ["hello", "turns"])
def test_a_chat_for_an_open_model_counts_what_its_template_gives(
    api: Api, model: str, template: str, chat: str
) -> None:
    answer = api.count(model=model, messages=CHATS[chat]["messages"])
    assert answer["tokens"] == KNOWN[template][chat]["tokens"]
    assert answer["low"] == answer["tokens"] <= answer["high"]  # a host may add marks of its own
    assert sum(answer["breakdown"].values()) == answer["tokens"]


def test_a_picture_is_sized_from_its_header(api: Api) -> None:
    def parts(data: bytes) -> list[dict[str, Any]]:
        url = "data:image/png;base64," + base64.b64encode(data).decode()
        return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]

    small, large = (api.count(model="gpt-4o", messages=parts(png(*size))) for size in ((512, 512), (1024, 1024)))
    assert (small["breakdown"]["images"], large["breakdown"]["images"]) == (255, 765)
    unknown = api.count(model="gpt-4o", messages=parts(b"no picture"))
    assert unknown["high"] > large["high"]


def test_a_callers_template_that_is_allowed_shapes_the_count_and_never_holds_up_the_event_loop(tmp_path: Path) -> None:
    allowing = build_services(Settings(data_dir=tmp_path, log="off", allow_chat_template=True))
    api = Api(build_app(allowing))

    def count(template: str) -> dict[str, Any]:
        return api.count(model="qwen3-8b", request={"messages": HELLO, "chat_template": template}, dialect="vllm")

    assert count("{{ messages[0].content }}")["tokens"] == 2
    endless = count("{{ 'a' * 10**9 }}")
    assert endless["warnings"][0]["code"] == "chat_not_rendered"
    assert endless["low"] <= endless["tokens"] <= endless["high"]
    assert _in_pool(allowing, b'{"chat_template": "x"}')
    assert _in_pool(allowing, b'{"chat\\u005ftemplate": "x"}')
    assert not _in_pool(allowing, b'{"model": "gpt-4o", "text": "x"}')


def _in_pool(services: Services, body: bytes) -> bool:
    """Whether the work on ``body`` is done in another thread than the event loop's."""
    here = threading.get_ident()
    done = asyncio.run(run(services, lambda *_: str(threading.get_ident()).encode(), body))
    return done != str(here).encode()
