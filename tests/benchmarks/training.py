"""Training 10 MB, half English and half code, to 8,000 and 32,000 ids: CPU time and peak memory beside other trainers.

Each training runs in a process of its own, on one thread, the trainers by turns; the least time of three rounds counts,
and the greatest memory. Memory is that of the whole process: interpreter, library and corpus. Peers that are not
installed are named.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROUNDS = 3
SIZES = (8_000, 32_000)
HALF = 5_000_000  # bytes of each kind
ENGLISH = (Path("/usr/share/common-licenses"), Path("/usr/share/doc"))
# Of all trainers but those that have one of their own.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def run() -> None:
    """Print seconds and megabytes of every trainer, and the ratio of its time to ours."""
    installed = [name for name, (module, _) in TRAINERS.items() if importlib.util.find_spec(module)]
    with tempfile.TemporaryDirectory() as folder:
        files = _write_corpus(Path(folder))
        print(f"\ntraining {sum(map(os.path.getsize, files)) / 1e6:.1f} MB, one thread: CPU seconds, peak MB, ratio")
        for size in SIZES:
            _print_size(installed, size, files)
    missing = {module for module, _ in TRAINERS.values() if not importlib.util.find_spec(module)}
    print(f"trainers not installed: {', '.join(sorted(missing)) or 'none'}")


def _print_size(names: list[str], size: int, files: list[str]) -> None:
    seconds = dict.fromkeys(names, float("inf"))
    megabytes = dict.fromkeys(names, 0.0)
    for _ in range(ROUNDS):
        for name in names:
            measured = _in_own_process(name, size, files)
            seconds[name] = min(seconds[name], measured["seconds"])
            megabytes[name] = max(megabytes[name], measured["megabytes"])
    for name in names:
        ratio = seconds[name] / seconds[names[0]]
        print(f"  {size:6,} {name:28} {seconds[name]:6.2f} s {megabytes[name]:5.0f} MB {ratio:6.1f}x")


def _in_own_process(name: str, size: int, files: list[str]) -> dict[str, float]:
    one_thread = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.benchmarks.training", name, str(size), *files]
    done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _measure(name: str, size: int, files: list[str]) -> None:
    importlib.import_module(TRAINERS[name][0])
    start = time.process_time()
    TRAINERS[name][1](files, size)
    print(json.dumps({"seconds": time.process_time() - start, "megabytes": _peak()}))


def _peak() -> float:
    """Peak memory of this process alone: what Linux counts for its caller too is left out where it can be."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _write_corpus(folder: Path) -> list[str]:
    kinds = {
        "english": (ENGLISH, ("", ".txt", ".rst", ".html")),
        "code": ((Path(sysconfig.get_path("stdlib")),), (".py",)),
    }
    for kind, (sources, suffixes) in kinds.items():
        with (folder / kind).open("w", encoding="utf-8") as out:
            for text in _texts(sources, suffixes):
                out.write(text[: HALF - out.tell()])
                if out.tell() >= HALF:
                    break
    return [str(folder / kind) for kind in kinds]


def _texts(folders: tuple[Path, ...], suffixes: tuple[str, ...]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path.read_text("utf-8", errors="ignore")


def _texts_of(files: list[str]) -> Iterator[str]:
    return (Path(file).read_text("utf-8") for file in files)


def _ours(pattern: str, *, native: bool) -> Callable[[list[str], int], object]:
    def trained(files: list[str], size: int) -> object:
        from adapters.bpe.cutting import cut
        from adapters.bpe.train import train
        from service.cli.reading import text_parts

        corpus = (text for file in files for text in cut(text_parts(file)))
        return train(corpus, size=size, pattern=pattern, native=native)

    return trained


def _rustbpe(files: list[str], size: int) -> None:
    import rustbpe

    rustbpe.Tokenizer().train_from_iterator(_texts_of(files), size, pattern=PATTERN)


def _gigabpe(files: list[str], size: int) -> None:
    import gigabpe

    gigabpe.train_bpe(files, size, threads=1)


def _hugging_face(files: list[str], size: int) -> None:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(PATTERN), behavior="isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.train_from_iterator(_texts_of(files), trainers.BpeTrainer(vocab_size=size, show_progress=False))


def _bpeasy(files: list[str], size: int) -> None:
    import bpeasy

    bpeasy.train_bpe(_texts_of(files), PATTERN, 128, size)


def _sentencepiece(files: list[str], size: int) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        input=files, model_writer=io.BytesIO(), model_type="bpe", vocab_size=size, num_threads=1, minloglevel=2
    )


TRAINERS: dict[str, tuple[str, Callable[[list[str], int], object]]] = {
    "weighbridge (native)": ("adapters.bpe.train", _ours(PATTERN, native=True)),
    "weighbridge (native, r50k)": ("adapters.bpe.train", _ours("r50k", native=True)),
    "weighbridge (python)": ("adapters.bpe.train", _ours(PATTERN, native=False)),
    "rustbpe": ("rustbpe", _rustbpe),
    "gigabpe (r50k)": ("gigabpe", _gigabpe),
    "tokenizers": ("tokenizers", _hugging_face),
    "bpeasy": ("bpeasy", _bpeasy),
    "sentencepiece (its own)": ("sentencepiece", _sentencepiece),
}

if __name__ == "__main__":
    _measure(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
