"""``weighbridge train``."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from adapters.bpe.export import to_tiktoken, to_tokenizer_json
from adapters.bpe.train import Ties, train_words
from adapters.bpe.train import train as train_bytes
from adapters.bpe.trained import TrainedVocabulary
from service.cli.group import BadInput
from service.cli.output import note, print_table, printable_bytes
from service.cli.progress import Step, progress
from service.cli.sources import STDIN, decoded, named, read

_FORMATS: Mapping[str, Callable[[TrainedVocabulary], bytes]] = {
    "weighbridge": TrainedVocabulary.dump,
    "tiktoken": to_tiktoken,
    "tokenizer.json": lambda vocabulary: to_tokenizer_json(vocabulary).encode(),
}


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--size", type=click.IntRange(min=1), metavar="N", help="Ids at most: 256 bytes, merges, special tokens.")
@click.option(
    "--pattern", metavar="NAME|REGEX", help="Split pattern: a published one's name or your own. [default: o200k]"
)
@click.option(
    "--special", multiple=True, metavar="LITERAL", help="A special token, which gets one of the last ids. Repeatable."
)
@click.option(
    "--ties", type=click.Choice([rule.value for rule in Ties]), help="Which of equally frequent pairs comes first."
)
@click.option("--words", is_flag=True, help="Merge the characters of words, as Sennrich et al. (2016) do.")
@click.option("--merges", type=click.IntRange(min=1), metavar="N", help="With --words: merges at most.")
@click.option("--out", type=click.Path(), metavar="FILE", help="Where the vocabulary is written; - is standard output.")
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="weighbridge", show_default=True)
@click.option("--explain", is_flag=True, help="Print each merge: its number, the two tokens, and how often they met.")
def train(
    files: Sequence[str],
    size: int | None,
    pattern: str | None,
    special: Sequence[str],
    ties: str | None,
    merges: int | None,
    out: str | None,
    form: str,
    *,
    words: bool,
    explain: bool,
) -> None:
    """Train a byte-pair encoding on FILES, or on standard input.

    Again and again the most frequent pair of neighbours becomes one token, until there are --size ids or no pair
    occurs twice. Each file is a text of its own. Ties go to the pair with the lowest ids (lowest), or to the one that
    comes first in the text (first_seen); the default is lowest, and first_seen with --words.

    The formats tiktoken and tokenizer.json are read by those libraries, which give the same ids; tiktoken takes the
    pattern and the special tokens apart.

    Exit codes: 0 trained, 2 wrong command line or input.
    """
    _check_usage(size, merges, pattern, special, out, words=words, explain=explain)
    if words:
        vocabulary = _train_words(files, merges or 0, ties)
    else:
        vocabulary = _train_bytes(files, size or 0, pattern or "o200k", special, ties)
    made = len(vocabulary.merges)
    early = made < merges if merges else vocabulary.size < (size or 0)
    note(f"{vocabulary.size} ids, {made} merges" + ("; no other pair occurs twice" if early else ""))
    if out:
        _write(out, _FORMATS[form](vocabulary))
    if explain:
        _explain(vocabulary)


def _check_usage(
    size: int | None,
    merges: int | None,
    pattern: str | None,
    special: Sequence[str],
    out: str | None,
    *,
    words: bool,
    explain: bool,
) -> None:
    if not out and not explain:
        raise click.UsageError("Say where the vocabulary goes (--out FILE), or ask for the merges (--explain).")
    if out == STDIN and explain:
        raise click.UsageError("The vocabulary and the merges cannot both go to standard output.")
    if words and (size or pattern or special or not merges):
        raise click.UsageError("--words takes --merges, and no --size, --pattern or --special.")
    if not words and (merges or not size):
        raise click.UsageError("Training on bytes takes --size; --merges belongs to --words.")


def _train_bytes(
    files: Sequence[str], size: int, pattern: str, special: Sequence[str], ties: str | None
) -> TrainedVocabulary:
    planned = max(size - 256 - len(special), 1)
    with progress() as step:
        return train_bytes(
            _corpus(files, step),
            size=size,
            pattern=pattern,
            special=special,
            ties=ties or Ties.LOWEST,
            on_merge=lambda _merge: step("merges", planned, 1),
        )


def _train_words(files: Sequence[str], merges: int, ties: str | None) -> TrainedVocabulary:
    counts: Counter[str] = Counter()
    with progress() as step:
        for text in _corpus(files, step):
            counts.update(text.split())
        return train_words(
            counts,
            merges=merges,
            ties=ties or Ties.FIRST_SEEN,
            on_merge=lambda _merge: step("merges", merges, 1),
        )


def _corpus(files: Sequence[str], step: Step) -> Iterator[str]:
    """The text of each input, one in memory at a time."""
    names = named(files)
    for name in names:
        yield decoded(name, read(name))
        step("texts", len(names), 1)


def _write(out: str, data: bytes) -> None:
    """Write a finished file in one step, or write to standard output."""
    if out == STDIN:
        click.echo(data, nl=False)
        return
    path = Path(out)
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as target:
                target.write(data)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from None
    note(f"wrote {path}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def _explain(vocabulary: TrainedVocabulary) -> None:
    print_table(
        ("merge", "left", "right", "frequency"),
        [
            (number, printable_bytes(merge.left), printable_bytes(merge.right), merge.frequency)
            for number, merge in enumerate(vocabulary.merges, 1)
        ],
        right=("merge", "frequency"),
    )
