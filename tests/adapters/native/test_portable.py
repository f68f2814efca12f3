"""The core without the instructions of one processor gives tiktoken's ids too; ``make arm64`` runs it on others."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.soundness.core import Driver, build, corpus, reference

COMPILER = os.environ.get("CC", "cc")


@pytest.fixture(scope="module")
def portable(tmp_path_factory) -> Driver:
    if not shutil.which(COMPILER):
        pytest.skip(f"{COMPILER} is not here")
    folder = tmp_path_factory.mktemp("portable")
    return Driver(build(folder, "portable", COMPILER, "-O1", "-Werror", "-DWEIGHBRIDGE_PORTABLE"))


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_the_portable_core_gives_the_same_ids_in_several_threads(portable, name):
    texts = corpus(500)
    assert len(texts) > 1_000
    assert portable.answers(name, texts, threads=3) == reference(name, texts)
