"""``weighbridge compare``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import click

from adapters.unicode.scripts import script_of
from service.cli.billing import NONE, Billing, billed, dollars, print_notices, token_count
from service.cli.environment import Environment, environment
from service.cli.group import BadInput
from service.cli.output import note, print_json, print_table
from service.cli.sources import texts
from service.cli.tables import Column, print_columns
from service.domain.catalog import Resolution
from service.domain.compare import (
    MOST_CHARACTERS,
    CompareRow,
    ScriptTokens,
    by_script,
    cheapest,
    compare_row,
    in_order,
    scripts_of,
)
from service.domain.counting import Count, Scale, count_text
from service.domain.estimate import CallPlan, estimate, summed
from service.domain.framing import message_framing
from service.domain.notices import NO_NOTICES, Notice
from service.domain.prices import Free, Price, Unknown

_Priced: TypeAlias = tuple[CompareRow, Price | Free | Unknown | None]
"""A row and, for a model, its price."""


@dataclass(frozen=True, slots=True)
class _Weighing:
    """What every row is made of: the texts, how each is sent, and whether they are taken apart by script."""

    here: Environment
    texts: Sequence[str]
    plan: CallPlan
    scripts: bool

    def of_model(self, scale: Scale, found: Resolution) -> _Priced:
        """Each text counted, and estimated as a call of its own."""
        counts = self._counts(scale)
        price = self.here.pricer.price(found, self.plan.at, self.plan.context)
        framing = message_framing(self.here.framings, found.model)
        costs = [estimate(count, found.model, price, self.plan, framing=framing).cost for count in counts]
        return compare_row(scale, counts, self._by_script(scale, counts), summed(costs)), price

    def of_tokenizer(self, scale: Scale) -> _Priced:
        """Each text counted."""
        counts = self._counts(scale)
        return compare_row(scale, counts, self._by_script(scale, counts), None), None

    @property
    def notices(self) -> Sequence[Notice]:
        """What is missing for all rows."""
        if not self.scripts or sum(map(len, self.texts)) <= MOST_CHARACTERS:
            return NO_NOTICES
        return (Notice("by_script_omitted", f"Scripts are told apart up to {MOST_CHARACTERS} characters.", "text"),)

    def _counts(self, scale: Scale) -> list[Count]:
        return [count_text(scale, text, path=f"texts[{index}]") for index, text in enumerate(self.texts)]

    def _by_script(self, scale: Scale, counts: Sequence[Count]) -> Mapping[str, ScriptTokens]:
        if not self.scripts:
            return {}
        return by_script(scale, self.texts, scripts_of(self.texts, script_of), sum(count.tokens for count in counts))


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--text", "given", multiple=True, metavar="TEXT", help="A text, in place of a file. Repeatable.")
@click.option("-m", "--model", "models", multiple=True, metavar="NAME", help="A model to compare. Repeatable.")
@click.option("-t", "--tokenizer", "tokenizers", multiple=True, metavar="NAME", help="A vocabulary. Repeatable.")
@click.option(
    "--max-output", type=token_count, metavar="N", help="Output tokens at most. [default: each model's limit]"
)
@click.option("--expected-output", type=token_count, metavar="N", help="Output tokens expected. [default: as many]")
@click.option("--by-script", "scripts", is_flag=True, help="Print what each script takes, in place of the costs.")
@billed
def compare(
    *,
    files: Sequence[str],
    given: Sequence[str],
    models: Sequence[str],
    tokenizers: Sequence[str],
    max_output: int | None,
    expected_output: int | None,
    scripts: bool,
    billing: Billing,
    as_json: bool,
) -> None:
    """Weigh the same texts (FILES, --text, or standard input) for many models or tokenizers, the cheapest first.

    One text: tokens, tokens per character, the bounds of the tokens, and the dollars expected. Several: the tokens of
    each text, then tokens, tokens per character, vocabulary size, accuracy and dollars of all; each text is a call of
    its own. With --by-script: script, name, characters, tokens, tokens per character; the fewest tokens first.

    Exit codes: 0 done, 2 wrong command line or input.
    """
    if models and tokenizers:
        raise click.UsageError("Compare models (-m) or tokenizers (-t), not both.")
    named = list(_texts(files, given))
    plan = CallPlan(
        billing.at,
        billing.context,
        max_output_tokens=max_output,
        expected_output_tokens=0 if expected_output is None and max_output is None else expected_output,
    )
    weighing = _Weighing(environment(), [text for _, text in named], plan, scripts or as_json)
    done = _rows(weighing, models, tokenizers)
    if as_json:
        _print_json(weighing, done)
        return
    if scripts:
        _print_scripts([row for row, _ in done])
    else:
        _print_rows([heading for heading, _ in named], [row for row, _ in done])
    _print_notes(weighing, done)


def _texts(files: Sequence[str], given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A heading and the text, for each text."""
    if not given:
        yield from ((Path(name).name, text) for name, text in texts(files))
        return
    if files:
        raise click.UsageError("Give files or texts (--text), not both.")
    for text in given:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadInput("--text is not UTF-8. Convert it first, for instance with iconv.") from None
        yield text, text


def _rows(weighing: _Weighing, models: Sequence[str], tokenizers: Sequence[str]) -> list[_Priced]:
    """The rows in their order. Every name is looked up before anything is loaded."""
    here = weighing.here
    if tokenizers:
        weigher = here.weigher(tokenizers)
        rows = [weighing.of_tokenizer(weigher.scale_of_tokenizer(name)) for name in tokenizers]
    else:
        found = [here.priced.resolve(name) for name in models or here.compared]
        weigher = here.weigher([here.vocabulary_of(item.model) for item in found])
        rows = [weighing.of_model(weigher.scale_of(item), item) for item in found]
    prices = {id(row): price for row, price in rows}
    return [(row, prices[id(row)]) for row in in_order([row for row, _ in rows])]


def _name(row: CompareRow) -> str:
    return f"{row.scale.provider}/{row.scale.model}" if row.scale.model else row.scale.info.name


def _print_rows(headings: Sequence[str], rows: Sequence[CompareRow]) -> None:
    tokens = Column("tokens", [row.tokens for row in rows])
    ratio = Column("per char", [_ratio(row.tokens_per_character) for row in rows])
    cost = Column("dollars", [dollars(row.cost.expected) if row.cost else NONE for row in rows])
    if len(headings) == 1:
        columns = [tokens, ratio, Column("low-high", [f"{row.low}-{row.high}" for row in rows]), cost]
    else:
        each = [Column(text, [row.items[n].tokens for row in rows], text=True) for n, text in enumerate(headings)]
        vocabulary = Column("vocabulary", [row.scale.tokenizer.vocab_size for row in rows])
        accuracy = Column("accuracy", [row.scale.accuracy.value for row in rows])
        columns = [*each, tokens, ratio, vocabulary, accuracy, cost]
    label = "model" if rows[0].scale.model else "tokenizer"
    print_columns(Column(label, [_name(row) for row in rows]), columns)


def _print_scripts(rows: Sequence[CompareRow]) -> None:
    """Script by script, the most frequent first; of each, the row that takes the fewest tokens first."""
    cells = [
        (script, _name(row), found.characters, found.tokens, _ratio(found.tokens_per_character))
        for row in rows
        for script, found in row.by_script.items()
    ]
    cells.sort(key=lambda cell: (-cell[2], cell[0], cell[3]))
    columns = ("script", "name", "characters", "tokens", "per char")
    print_table(columns, cells, right=columns[2:])


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _print_notes(weighing: _Weighing, done: Sequence[_Priced]) -> None:
    print_notices(weighing.notices)
    for row, price in done:
        print_notices(row.scale.notices, _name(row))
        if isinstance(price, Unknown) and not weighing.scripts:
            note(f"{_name(row)}: {price.message}")
    priced = any(price is not None for _, price in done)
    if priced and not weighing.scripts and weighing.plan.max_output_tokens is None:
        note("Without --max-output the dollars are those of the text alone.")


def _print_json(weighing: _Weighing, done: Sequence[_Priced]) -> None:
    from service.api.pricing.schemas import CompareAnswer  # noqa: PLC0415 - 35 ms that only --json costs
    from service.api.pricing.wire import wire_row  # noqa: PLC0415

    best = cheapest([row for row, _ in done])
    rows = [wire_row(row, price) for row, price in done]
    print_json(CompareAnswer(rows, best.scale.label if best else None, weighing.notices))
