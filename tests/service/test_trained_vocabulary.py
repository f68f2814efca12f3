"""From text to a price: train on real text, register the vocabulary and a model, serve, and count over HTTP."""

from __future__ import annotations

import re
import sysconfig
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
import tiktoken
from click.testing import CliRunner
from tiktoken.load import load_tiktoken_bpe

from adapters.manifest import read_manifest
from service.cli import cli

ROOT = Path(__file__).parents[2]
END = "<|end|>"
ROWS = """
[[tokenizer]]
name = "own"
family = "{family}"
file = "{file}"
sha256 = "{sha256}"
{more}

[[model]]
provider = "local"
id = "own-2k"
tokenizer = "own"
context_window = 8192

[[price]]
provider = "local"
model = "own-2k"
from = 2026-01-01
input_mtok = "0.20"
output_mtok = "0.80"
source = "the test"
checked = 2026-01-01
"""


def train(data_dir: Path, form: str) -> tuple[str, str]:
    """Train in the data directory; the file's name and the hash that the command prints."""
    corpus = [ROOT / "README.md", *sorted(Path(sysconfig.get_path("stdlib")).glob("t*.py"))]
    file = data_dir / f"own.{form}"
    arguments = ["--size", "2000", "--pattern", "o200k", "--special", END, "--format", form, "--out", str(file)]
    result = CliRunner().invoke(cli, ["train", *map(str, corpus), *arguments])
    assert result.exit_code == 0, result.stderr
    found = re.search(r"sha256 ([0-9a-f]{64})", result.stderr)
    assert found is not None
    return file.name, found[1]


@pytest.mark.parametrize(
    ("form", "family", "more"),
    [
        ("tiktoken", "tiktoken", f'pattern = "o200k"\nspecial = {{"{END}" = 1999}}'),
        ("tokenizer.json", "huggingface", ""),
    ],
)
def test_a_trained_vocabulary_counts_and_prices_over_http(form, family, more, serve, tmp_path):
    file, sha256 = train(tmp_path, form)
    rank_file, _ = train(tmp_path, "tiktoken")
    rows = ROWS.format(family=family, file=file, sha256=sha256, more=more)
    (tmp_path / "weighbridge.toml").write_text(rows)
    reference = tiktoken.Encoding(
        "own",
        pat_str=read_manifest().patterns["o200k"],
        mergeable_ranks=load_tiktoken_bpe(str(tmp_path / rank_file)),
        special_tokens={END: 1999},
    )
    server = serve(vocabularies="own")

    for text in (
        "",
        "def weigh(truck): return truck.weight  # 秤 📧",
        f"the end{END}",
        (ROOT / "README.md").read_text(),
    ):
        expected = len(reference.encode(text, disallowed_special=()))
        answer = httpx.post(f"{server.url}/v1/count", json={"model": "local/own-2k", "text": text}).json()
        assert (answer["tokens"], answer["accuracy"]) == (expected, "exact")
        assert answer["tokenizer"]["sha256"] == sha256
        estimate = httpx.post(
            f"{server.url}/v1/estimate", json={"model": "own-2k", "text": text, "max_output_tokens": 100}
        ).json()
        assert Decimal(estimate["cost"]["expected"]) == (expected * Decimal("0.20") + 100 * Decimal("0.80")) / 10**6
    parsed = httpx.post(f"{server.url}/v1/count", json={"tokenizer": "own", "text": END, "special_tokens": "parse"})
    assert parsed.json()["tokens"] == 1
