"""What is known: ``/v1/models`` and ``/v1/tokenizers``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from fastapi import APIRouter, Request, Response

from adapters.port import Sampler, TokenizerSpec
from service.api.exchange import Exchange
from service.api.openapi import Operation
from service.api.services import Services
from service.api.weighing.schemas import ModelList, ModelRow, TokenizerList, TokenizerRow
from service.domain.catalog import Accuracy, ModelSpec
from service.domain.keys.access import Caller, KeyScope
from service.domain.past.calibration import Calibration
from service.domain.past.calls import CountedBy
from service.domain.spending.errors import LedgerUnavailable

_MODELS = Operation("Every model, with its tokenizer, its accuracy and its limits.", answers=(ModelList,))
_TOKENIZERS = Operation("Every vocabulary, with its size, engine, hash, licence and source.", answers=(TokenizerList,))

OPERATIONS = (_MODELS, _TOKENIZERS)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``; the rows are made once, and only what past calls say of them changes."""
    routes = APIRouter(tags=["catalog"])
    models = model_list(services)
    bare = msgspec.json.encode(models)
    tokenizers = msgspec.json.encode(tokenizer_list(services))

    @routes.get("/v1/models", **_MODELS.options())
    async def list_models(request: Request) -> Response:
        known = await _calibrations(services, Exchange.of(request.scope).caller)
        answer = msgspec.json.encode(_with(models, known)) if known else bare
        return Response(answer, media_type="application/json")

    @routes.get("/v1/tokenizers", **_TOKENIZERS.options())
    async def list_tokenizers() -> Response:
        return Response(tokenizers, media_type="application/json")

    return routes


def model_list(services: Services) -> ModelList:
    """Every model of the catalog, by provider and id."""
    rows = sorted(services.weigher.catalog.models, key=lambda spec: (spec.provider, spec.id))
    return ModelList([_model_row(spec, services) for spec in rows])


def tokenizer_list(services: Services) -> TokenizerList:
    """Every vocabulary by name, those that are not installed included."""
    specs = {spec.name: spec for spec in services.absent} | dict(services.specs)
    return TokenizerList([_tokenizer_row(specs[name], services) for name in sorted(specs)])


async def _calibrations(services: Services, caller: Caller) -> Mapping[CountedBy, Calibration]:
    """How far off estimates were, in every project for an admin, else in the caller's own; nothing without a ledger."""
    try:
        return await services.past.calibrations(None if caller.may(KeyScope.ADMIN) else caller.project)
    except LedgerUnavailable:
        return {}


def _with(models: ModelList, known: Mapping[CountedBy, Calibration]) -> ModelList:
    """``models`` with the calibration of each, for the tokenizer that counts for it now."""
    rows = []
    for row in models.models:
        found = known.get(CountedBy(row.provider, row.id, row.stand_in or row.tokenizer or ""))
        rows.append(row if found is None else msgspec.structs.replace(row, calibration=found))
    return ModelList(rows)


def _model_row(spec: ModelSpec, services: Services) -> ModelRow:
    installed = spec.tokenizer in services.weigher.tokenizers
    return ModelRow(
        id=spec.id,
        provider=spec.provider,
        aliases=spec.aliases,
        kind=spec.kind,
        tokenizer=spec.tokenizer,
        installed=installed,
        stand_in=spec.estimator.tokenizer if spec.estimator and not installed else None,
        accuracy=(spec.accuracy if installed else Accuracy.APPROXIMATE if spec.estimator else Accuracy.UNKNOWN).value,
        accuracy_reasons=spec.reasons,
        context_window=spec.context_window,
        max_output_tokens=spec.max_output_tokens,
        source=spec.source,
        checked=spec.checked,
    )


def _tokenizer_row(spec: TokenizerSpec, services: Services) -> TokenizerRow:
    tokenizer = services.weigher.tokenizers.get(spec.name)
    return TokenizerRow(
        name=spec.name,
        family=spec.family.value,
        engine=tokenizer.engine if tokenizer else None,
        installed=tokenizer is not None,
        vocab_size=tokenizer.vocab_size if tokenizer else spec.size,
        special_tokens=dict(tokenizer.special_tokens if tokenizer else spec.special),
        added_tokens=tokenizer.added_tokens if tokenizer else 0,
        normalizer=spec.normalizer,
        sampling=isinstance(tokenizer, Sampler),
        sha256=spec.sha256,
        license=spec.license,
        source=spec.source,
        used_by=spec.used_by,
    )
