"""Metrics: valid for Prometheus, and bounded whatever callers send."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from service.api.errors import TITLES
from service.metrics import Metrics


def _series(text: str) -> set[str]:
    return set(re.findall(r"^(weighbridge_\w+(?:\{[^}]*\})?)", text, re.MULTILINE))


def _value(text: str, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def test_promtool_accepts_the_exposition(api):
    promtool = shutil.which("promtool")
    if promtool is None:
        if os.environ.get("CI"):
            pytest.fail("promtool (Debian: prometheus) is missing")
        pytest.skip("promtool (Debian: prometheus) is not installed")
    api.count(model="gpt-4o", text="Hello")
    api.post("/v1/count", b"no")
    exposition = api.get("/metrics").content
    check = subprocess.run([promtool, "check", "metrics"], input=exposition, capture_output=True, check=False)
    assert (check.returncode, check.stdout, check.stderr) == (0, b"", b"")


def test_a_thousand_made_up_names_make_no_series(api):
    api.post("/v1/count", {"model": "made-up", "text": "a"})
    api.get("/made/up")
    api.get("/metrics")
    before = _series(api.get("/metrics").text)
    unknown = _value(api.get("/metrics").text, "weighbridge_unknown_models_total")
    for i in range(1000):
        assert api.post("/v1/count", {"model": f"made-up-{i}", "text": "a"}).status_code == 422
    for i in range(300):
        assert api.get(f"/wp-admin/{i}").status_code == 404
    text = api.get("/metrics").text
    assert _series(text) == before
    assert _value(text, "weighbridge_unknown_models_total") == unknown + 1000
    assert "made-up" not in text
    assert "wp-admin" not in text


def test_counts_are_recorded_by_tokenizer_and_model(api):
    tokens = 'weighbridge_tokens_counted_total{model="gpt-4o",tokenizer="o200k_base"}'
    characters = 'weighbridge_characters_counted_total{model="gpt-4o",tokenizer="o200k_base"}'
    before = api.get("/metrics").text
    api.count(model=" GPT-4o ", text="Hello, World!")
    api.count(model="gpt-4o", texts=["Hello, World!", ""])
    after = api.get("/metrics").text
    assert _value(after, tokens) - _value(before, tokens) == 8
    assert _value(after, characters) - _value(before, characters) == 26


def test_requests_are_recorded_by_route_template_method_and_status(api):
    series = [
        'weighbridge_http_requests_total{method="POST",route="/v1/count",status="200"}',
        'weighbridge_http_requests_total{method="GET",route="/livez",status="200"}',
        'weighbridge_http_requests_total{method="GET",route="unmatched",status="404"}',
        'weighbridge_http_requests_total{method="other",route="unmatched",status="404"}',
        'weighbridge_errors_total{code="not_found"}',
    ]
    before = api.get("/metrics").text
    api.count(model="gpt-4o", text="")
    api.get("/livez")
    api.get("/nowhere")
    api.request("BREW", "/nowhere")
    after = api.get("/metrics").text
    assert [_value(after, s) - _value(before, s) for s in series] == [1, 1, 1, 1, 2]


def test_every_label_value_of_errors_is_a_known_code(api):
    api.post("/v1/count", b"no")
    codes = set(re.findall(r'weighbridge_errors_total\{code="(\w+)"\}', api.get("/metrics").text))
    assert codes
    assert codes <= set(TITLES)


def test_an_empty_text_leaves_no_ratio():
    metrics = Metrics()
    metrics.counted("o200k_base", "", 0, 0)
    assert b"NaN" not in metrics.render()
    assert b'weighbridge_tokens_per_character_count{tokenizer="o200k_base"} 0.0' in metrics.render()
