"""What is known: ``/v1/models`` and ``/v1/tokenizers``."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Response

from adapters.port import Sampler, TokenizerSpec
from service.api.openapi import Operation
from service.api.schemas import ModelList, ModelRow, TokenizerList, TokenizerRow
from service.api.services import Services
from service.domain.catalog import Accuracy, ModelSpec

_MODELS = Operation("Every model, with its tokenizer, its accuracy and its limits.", answers=(ModelList,))
_TOKENIZERS = Operation("Every vocabulary, with its size, engine, hash, licence and source.", answers=(TokenizerList,))

OPERATIONS = (_MODELS, _TOKENIZERS)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``; both answers are made once, since neither changes while the process runs."""
    routes = APIRouter(tags=["catalog"])
    models = msgspec.json.encode(model_list(services))
    tokenizers = msgspec.json.encode(tokenizer_list(services))

    @routes.get("/v1/models", **_MODELS.options())
    async def list_models() -> Response:
        return Response(models, media_type="application/json")

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
