"""An engine that does not give the known answer at start is replaced, and everyone who looks can see it."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest

import adapters.loader
from adapters.native.tokenizer import NativeTokenizer
from adapters.port import VocabularyDamaged
from service.app import build_app, build_services
from service.settings import Settings


class Wrong(NativeTokenizer):
    """Gives another count than the vocabulary's own for one of the two."""

    def count(self, text, *, stop=None):
        return super().count(text, stop=stop) + (self.name == "r50k_base")


def ask(app, path: str, body: dict | None = None) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await (client.get(path) if body is None else client.post(path, json=body))

    return asyncio.run(send())


def settings(tmp_path, **changes) -> Settings:
    return Settings(data_dir=tmp_path, log="off", vocabularies=("r50k_base", "cl100k_base"), **changes)


def test_the_next_engine_serves_and_readiness_and_metrics_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(adapters.loader, "NativeTokenizer", Wrong)
    app = build_app(build_services(settings(tmp_path)))
    ready = ask(app, "/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")
    assert ready.json()["vocabularies"] == {"r50k_base": "tiktoken", "cl100k_base": "native"}
    assert ready.json()["replaced"] == ["r50k_base"]
    metrics = ask(app, "/metrics").text
    fallbacks = re.findall(r"^weighbridge_engine_fallbacks_total(\{.*) (\S+)$", metrics, re.MULTILINE)
    assert fallbacks == [('{engine="tiktoken",tokenizer="r50k_base"}', "1.0")]
    assert 'weighbridge_vocabulary_info{engine="tiktoken",family="tiktoken",tokenizer="r50k_base"} 1.0' in metrics
    answer = ask(app, "/v1/count", {"tokenizer": "r50k_base", "text": "Hello, World!"}).json()
    assert (answer["tokens"], answer["tokenizer"]["engine"]) == (4, "tiktoken")


def test_nothing_is_replaced_where_the_chosen_engine_serves(tmp_path):
    for engine, serves in (("native", "native"), ("library", "tiktoken"), ("python", "python")):
        ready = ask(build_app(build_services(settings(tmp_path, engine=engine))), "/readyz").json()
        assert set(ready["vocabularies"].values()) == {serves}
        assert ready["replaced"] == []


def test_where_the_native_engine_is_required_a_wrong_one_stops_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(adapters.loader, "NativeTokenizer", Wrong)
    with pytest.raises(VocabularyDamaged, match="r50k_base"):
        build_services(settings(tmp_path, require_native=True))
