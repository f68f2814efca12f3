"""``weighbridge models``."""

from __future__ import annotations

import click

from service.cli.environment import Environment, environment
from service.cli.output import print_json, print_table
from service.domain.catalog import Accuracy, ModelSpec


@click.command()
@click.argument("text", default="", metavar="[FILTER]")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def models(text: str, *, as_json: bool) -> None:
    """List the models that are known, or those whose provider, id, alias or tokenizer contains FILTER.

    Columns: provider, model, tokenizer (its stand-in in brackets), accuracy of the counts, context window in tokens.

    Exit codes: 0 done, 1 no model matches, 2 wrong command line or configuration.
    """
    here = environment()
    specs = sorted(here.catalog.models, key=lambda spec: (spec.provider, spec.id))
    rows = [_row(spec, here) for spec in specs if _matches(spec, text.strip().lower())]
    if as_json:
        print_json(rows)
    else:
        columns = ("provider", "model", "tokenizer", "accuracy", "context")
        print_table(columns, [_cells(row) for row in rows], right=("context",))
    if not rows:
        raise click.exceptions.Exit(1)


def _matches(spec: ModelSpec, text: str) -> bool:
    return any(text in name.lower() for name in (spec.provider, spec.id, *spec.aliases, spec.tokenizer or ""))


def _row(spec: ModelSpec, here: Environment) -> dict[str, object]:
    installed = here.has(spec.tokenizer)
    stand_in = spec.estimator.tokenizer if spec.estimator and not installed else None
    return {
        "provider": spec.provider,
        "id": spec.id,
        "aliases": spec.aliases,
        "tokenizer": spec.tokenizer,
        "installed": installed,
        "stand_in": stand_in,
        "accuracy": (spec.accuracy if installed else Accuracy.APPROXIMATE if stand_in else Accuracy.UNKNOWN).value,
        "accuracy_reasons": spec.reasons,
        "context_window": spec.context_window,
        "max_output_tokens": spec.max_output_tokens,
    }


def _cells(row: dict[str, object]) -> tuple[object, ...]:
    stand_in = f"({row['stand_in']})" if row["stand_in"] else ""
    tokenizer = " ".join(filter(None, (str(row["tokenizer"] or ""), stand_in))) or "-"
    return row["provider"], row["id"], tokenizer, row["accuracy"], row["context_window"] or "-"
