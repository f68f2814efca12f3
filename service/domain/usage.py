"""Usage: what a call consumed, in units that a price book can price.

Usage is inclusive inside: ``input_tokens`` holds cache reads and writes and every modality, ``cache_write_tokens``
holds the one-hour ones, ``output_tokens`` holds reasoning and every modality. A vendor that reports a part apart is
added up by its dialect before a ``Usage`` is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from operator import attrgetter
from types import MappingProxyType

from service.domain.errors import InconsistentUsage

MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Unit:
    """Something that is billed: ``price_key`` names its rate in a price row, which is dollars per ``per`` of it."""

    name: str
    price_key: str
    per: int
    parent: str | None = None


_UNITS = (
    Unit("input", "input_mtok", MTOK),
    Unit("cache_read", "cache_read_mtok", MTOK, "input_mtok"),
    Unit("cache_write", "cache_write_mtok", MTOK, "input_mtok"),
    Unit("cache_write_1h", "cache_write_1h_mtok", MTOK, "cache_write_mtok"),
    Unit("input_audio", "input_audio_mtok", MTOK),
    Unit("cache_audio_read", "cache_audio_read_mtok", MTOK, "input_audio_mtok"),
    Unit("input_image", "input_image_mtok", MTOK),
    Unit("cache_image_read", "cache_image_read_mtok", MTOK, "input_image_mtok"),
    Unit("input_video", "input_video_mtok", MTOK),
    Unit("cache_video_read", "cache_video_read_mtok", MTOK, "input_video_mtok"),
    Unit("output", "output_mtok", MTOK),
    Unit("reasoning", "output_reasoning_mtok", MTOK, "output_mtok"),
    Unit("output_audio", "output_audio_mtok", MTOK),
    Unit("output_image", "output_image_mtok", MTOK),
    Unit("output_video", "output_video_mtok", MTOK),
    Unit("output_citation", "output_citation_mtok", MTOK),
    Unit("input_characters", "input_mchars", MTOK),
    Unit("output_characters", "output_mchars", MTOK),
    Unit("input_text_messages", "input_text_messages_kcount", 1000),
    Unit("audio_seconds", "audio_hours", 3600),
    Unit("input_audio_seconds", "input_audio_hours", 3600),
    Unit("output_audio_seconds", "output_audio_hours", 3600),
    Unit("output_video_seconds", "output_video_seconds", 1),
    Unit("input_images", "input_images", 1),
    Unit("output_images", "output_images", 1),
    Unit("input_pixels", "input_gpixels", 1_000_000_000),
    Unit("input_document_pages", "input_document_kpages", 1000),
    Unit("input_annotated_document_pages", "input_annotated_document_kpages", 1000),
    Unit("rerank_searches", "rerank_searches_kcount", 1000),
    Unit("web_searches", "web_searches_kcount", 1000),
    Unit("social_searches", "social_searches_kcount", 1000),
    Unit("storage_searches", "storage_searches_kcount", 1000),
    Unit("code_executions", "code_executions_kcount", 1000),
    Unit("requests", "requests_kcount", 1000),
)
UNITS: Mapping[str, Unit] = MappingProxyType({unit.name: unit for unit in _UNITS})
"""Every unit by name. ``parent`` is the rate that stands in where a unit has none of its own; most have none."""

PARENTS: Mapping[str, str | None] = MappingProxyType({unit.price_key: unit.parent for unit in reversed(_UNITS)})
"""The rate that stands in for each rate."""

PRICE_KEYS = frozenset(unit.price_key for unit in _UNITS)
_MODALITIES = ("audio", "image", "video")
_FEES = tuple(
    unit.name for unit in _UNITS if unit.per != MTOK or unit.name in ("input_characters", "output_characters")
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, inclusive as the module says, and ``other`` units by name (``web_searches``).

    Raises ``InconsistentUsage`` where a part is negative or larger than its whole.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    input_audio_tokens: int = 0
    input_image_tokens: int = 0
    input_video_tokens: int = 0
    cache_audio_read_tokens: int = 0
    cache_image_read_tokens: int = 0
    cache_video_read_tokens: int = 0
    output_audio_tokens: int = 0
    output_image_tokens: int = 0
    output_video_tokens: int = 0
    output_citation_tokens: int = 0
    other: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        counts = _counts(self)
        if min(counts) < 0:
            raise InconsistentUsage(
                f"{next(name for name, n in zip(_COUNTS, counts, strict=True) if n < 0)} is negative"
            )
        for name, quantity in self.other.items():
            if name not in _FEES:
                raise InconsistentUsage("a unit of usage is not known")
            if not quantity.is_finite() or quantity < 0:
                raise InconsistentUsage(f"{name} is negative or not finite")
        self._require(
            self.cache_write_1h_tokens, "cache_write_1h_tokens", self.cache_write_tokens, "cache_write_tokens"
        )
        self._require(
            self.cache_read_tokens + self.cache_write_tokens,
            "cache_read_tokens + cache_write_tokens",
            self.input_tokens,
            "input_tokens",
        )
        self._require(self.reasoning_tokens, "reasoning_tokens", self.output_tokens, "output_tokens")
        if any(_modal_counts(self)):
            self._require_modal()

    def _require_modal(self) -> None:
        for modality in _MODALITIES:
            read, whole = f"cache_{modality}_read_tokens", f"input_{modality}_tokens"
            self._require(getattr(self, read), read, getattr(self, whole), whole)
        for name, count in self.leaves():
            if count < 0:
                side = (
                    "output_tokens"
                    if name == "output"
                    else "cache_read_tokens"
                    if name == "cache_read"
                    else "input_tokens"
                )
                raise InconsistentUsage(f"the parts add up to more than {side}")

    @staticmethod
    def _require(part: int, part_name: str, whole: int, whole_name: str) -> None:
        if part > whole:
            raise InconsistentUsage(f"{part_name} is more than {whole_name}")

    def leaves(self) -> Iterator[tuple[str, int]]:
        """Every token once: unit names and counts that add up to ``input_tokens + output_tokens``."""
        if any(_modal_counts(self)):
            yield from self._modal_leaves()
            return
        yield "input", self.input_tokens - self.cache_read_tokens - self.cache_write_tokens
        yield "cache_read", self.cache_read_tokens
        yield "cache_write", self.cache_write_tokens - self.cache_write_1h_tokens
        yield "cache_write_1h", self.cache_write_1h_tokens
        yield "output", self.output_tokens - self.reasoning_tokens
        yield "reasoning", self.reasoning_tokens

    def _modal_leaves(self) -> Iterator[tuple[str, int]]:
        modal_reads = sum(getattr(self, f"cache_{m}_read_tokens") for m in _MODALITIES)
        modal_inputs = sum(getattr(self, f"input_{m}_tokens") for m in _MODALITIES)
        modal_outputs = sum(getattr(self, f"output_{m}_tokens") for m in (*_MODALITIES, "citation"))
        text_reads = self.cache_read_tokens - modal_reads
        yield "input", self.input_tokens - modal_inputs - text_reads - self.cache_write_tokens
        yield "cache_read", text_reads
        yield "cache_write", self.cache_write_tokens - self.cache_write_1h_tokens
        yield "cache_write_1h", self.cache_write_1h_tokens
        for modality in _MODALITIES:
            read = getattr(self, f"cache_{modality}_read_tokens")
            yield f"input_{modality}", getattr(self, f"input_{modality}_tokens") - read
            yield f"cache_{modality}_read", read
        yield "output", self.output_tokens - self.reasoning_tokens - modal_outputs
        yield "reasoning", self.reasoning_tokens
        for kind in (*_MODALITIES, "citation"):
            yield f"output_{kind}", getattr(self, f"output_{kind}_tokens")

    def fees(self) -> Iterator[tuple[str, Decimal]]:
        """The other units that were used, by name."""
        if self.other:
            yield from ((name, self.other[name]) for name in _FEES if self.other.get(name))


_COUNTS = tuple(item.name for item in fields(Usage) if item.name != "other")
_counts = attrgetter(*_COUNTS)
_modal_counts = attrgetter(*(name for name in _COUNTS if any(kind in name for kind in (*_MODALITIES, "citation"))))
