"""Wire models of the requests, and of the answers that no domain type describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from service.domain.counting import TokenizerInfo
from service.domain.past.calibration import Calibration
from service.domain.remote import RemoteMode

Id = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Name = Annotated[str, Meta(min_length=1, max_length=512)]
Remote = Annotated[
    RemoteMode,
    Meta(
        description="When the vendor's own endpoint is asked to count a whole request as well; where missing, as the "
        "service is set: never, unless its operator chose otherwise."
    ),
]


Dialect = Literal["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "vllm", "litellm"]


class Weighing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is weighed with what: exactly one of ``model`` and ``tokenizer``. ``provider`` says who sells the model."""

    model: Name | None = None
    provider: Name | None = None
    tokenizer: Name | None = None


class Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Exactly one of ``text``, ``texts``, ``messages`` and ``request``. ``strict`` refuses a count that is not exact.

    ``messages`` are a chat, with its ``tools``, ``tool_choice``, ``response_format`` and ``system``, or OpenAI's older
    ``functions`` and ``function_call``; ``request`` is the whole body of a call as its vendor takes it. ``dialect``
    names the wire form of either where it is not plain to see.
    ``as`` says what a text is: bare ``"text"``, or the ``"message"`` of a user, framed as the model frames it.
    ``special_tokens``: ``"text"`` counts the literal of a special token as ordinary text, ``"parse"`` as the one token.
    ``limit`` asks whether a text or a request surely has at most so many tokens; of a text, counting stops past it.
    """

    text: str | None = None
    texts: Annotated[list[str], Meta(max_length=10_000)] | None = None
    messages: Annotated[list[Any], Meta(max_length=100_000)] | None = None
    tools: list[Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    functions: list[Any] | None = None
    function_call: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    system: str | list[Any] | None = None
    request: dict[str, Any] | None = None
    dialect: Dialect | None = None
    as_: Literal["text", "message"] = msgspec.field(name="as", default="text")
    special_tokens: Literal["text", "parse"] = "text"
    strict: bool = False
    limit: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class CountRequest(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is counted, with exactly one of ``model`` and ``tokenizer``. ``provider`` says who sells the model."""

    model: Name | None = None
    provider: Name | None = None
    tokenizer: Name | None = None
    remote: Remote | None = None


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many random encodings to draw, with what smoothing, from which seed."""

    n: Annotated[int, Meta(ge=1, le=64)] = 1
    alpha: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.1
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0


class TokenizeRequest(Weighing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A text to cut into tokens. ``pieces: false`` answers the ids alone; ``sample`` adds random encodings."""

    text: str
    special_tokens: Literal["text", "parse"] = "text"
    pieces: bool = True
    sample: Sample | None = None


class DetokenizeRequest(Weighing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Ids to turn back into text."""

    ids: Annotated[list[Id], Meta(max_length=1_000_000)]


class WirePiece(msgspec.Struct, frozen=True):
    """One token. ``text`` is ``null`` where its bytes are no UTF-8 of their own; places are in code points."""

    id: int
    text: str | None
    bytes: str
    start: int
    end: int
    unknown: bool


class TokenizeAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ids of a text and, unless they were declined, its pieces; ``bytes`` of a piece are base64."""

    model: str | None
    provider: str | None
    tokenizer: TokenizerInfo
    accuracy: str
    tokens: int
    ids: Sequence[int]
    pieces: Sequence[WirePiece] | None = None
    samples: Sequence[Sequence[int]] | None = None


class DetokenizeAnswer(msgspec.Struct, frozen=True):
    """The text of the ids, and its exact bytes (base64), which need not be UTF-8."""

    model: str | None
    provider: str | None
    tokenizer: TokenizerInfo
    accuracy: str
    text: str
    bytes: str


class ModelRow(msgspec.Struct, frozen=True):
    """A model of the catalog. ``stand_in`` counts for it where ``tokenizer`` is not public or not installed.

    ``calibration`` tells how far off estimates of its input were in the last 30 days, as (actual - estimated) /
    estimated; ``null`` where no call was settled, or the ledger is down. An admin sees every project's calls together.
    """

    id: str
    provider: str
    aliases: Sequence[str]
    kind: str
    tokenizer: str | None
    installed: bool
    stand_in: str | None
    accuracy: str
    accuracy_reasons: Sequence[str]
    context_window: int | None
    max_output_tokens: int | None
    source: str
    checked: str
    calibration: Calibration | None = None


class TokenizerRow(msgspec.Struct, frozen=True):
    """A vocabulary. ``engine`` is ``null`` where it is not installed; ``vocab_size`` counts special tokens too."""

    name: str
    family: str
    engine: str | None
    installed: bool
    vocab_size: int
    special_tokens: Mapping[str, int]
    added_tokens: int
    normalizer: str
    sampling: bool
    sha256: str
    license: str
    source: str
    used_by: str


class ModelList(msgspec.Struct, frozen=True):
    """All models."""

    models: Sequence[ModelRow]


class TokenizerList(msgspec.Struct, frozen=True):
    """All vocabularies."""

    tokenizers: Sequence[TokenizerRow]


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether the process lives, or is ready; ``vocabularies`` tells which engine serves each.

    ``replaced`` are those of them that the chosen engine cannot serve, or did not give the known answer for.
    ``ledger`` says whether budgets and spend can be used; counts go on without.
    """

    status: Literal["ok", "shutting_down"]
    version: str
    vocabularies: Mapping[str, str] = {}
    replaced: Sequence[str] = ()
    ledger: Literal["starting", "up", "down"] | None = None
