"""An installation without a working compiler: another engine serves, with the same counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from adapters.loader import Vocabularies
from tests.adapters.native.conftest import SPECS
from tests.fuzz import strings

ROOT = Path(__file__).parents[3]
COUNT = """
import json, sys
from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import read_manifest
told = []
options = LoaderOptions(on_fallback=lambda name, engine: told.append([name, engine]))
tokenizer = Vocabularies(read_manifest().vendored, options).load("r50k_base")
json.dump([tokenizer.engine, told, tokenizer.count_batch(json.load(sys.stdin))], sys.stdout)
"""


def test_an_install_with_a_broken_compiler_answers_with_the_same_counts(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".*", "*.so", "build", "__pycache__", "*.egg-info", "tests")
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    env = os.environ | {"CC": "/bin/false"}
    command = [*pip, "--target", target, source]
    installed = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    assert not [*target.glob("adapters/native/*.so")]

    texts = [*strings(300, seed=21, surrogates=True), "a" * 3_000]
    env = os.environ | {"PYTHONPATH": str(target)}
    command, asked = [sys.executable, "-c", COUNT], json.dumps(texts)
    answer = subprocess.run(command, cwd=tmp_path, env=env, input=asked, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    counts = Vocabularies(SPECS).load("r50k_base").count_batch(texts)
    assert json.loads(answer.stdout) == ["tiktoken", [["r50k_base", "tiktoken"]], counts]
