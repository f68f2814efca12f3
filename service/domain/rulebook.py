"""All rows of counting rules, and those that hold for one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from service.domain.caching import CacheRule
from service.domain.framing import Frame
from service.domain.images import ImageRule
from service.domain.media import AudioRule, DocumentRule, VideoRule
from service.domain.rules import Asked, R, decisive
from service.domain.tools import HostedToolRule, SchemaRule, ToolRule

_MOST_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one model."""

    frame: Frame
    tools: ToolRule
    hosted: Sequence[HostedToolRule]
    schema: SchemaRule
    image: ImageRule
    audio: AudioRule
    video: VideoRule
    document: DocumentRule


@dataclass(frozen=True, slots=True)
class RuleBook:
    """Every row, in the order of the files: later rows go before earlier ones."""

    frames: Sequence[Frame] = ()
    tools: Sequence[ToolRule] = ()
    hosted: Sequence[HostedToolRule] = ()
    schemas: Sequence[SchemaRule] = ()
    images: Sequence[ImageRule] = ()
    audio: Sequence[AudioRule] = ()
    video: Sequence[VideoRule] = ()
    documents: Sequence[DocumentRule] = ()
    caches: Sequence[CacheRule] = ()
    _kept: dict[tuple[str, ...], Rules] = field(default_factory=dict, repr=False, compare=False)

    def of(self, asked: Asked) -> Rules:
        """The rules that hold for what is asked."""
        key = (asked.model.provider, asked.model.id, asked.seller, asked.dialect, asked.day)
        rules = self._kept.get(key)
        if rules is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            rules = self._kept[key] = self._find(asked)
        return rules

    def cache_of(self, asked: Asked) -> CacheRule | None:
        """What the model's vendor keeps of a prompt; ``None`` where no source tells."""
        return decisive(self.caches, asked)

    def _find(self, asked: Asked) -> Rules:
        return Rules(
            frame=_one(self.frames, asked),
            tools=_one(self.tools, asked),
            hosted=[row for row in self.hosted if row.scope.holds(asked)],
            schema=_one(self.schemas, asked),
            image=_one(self.images, asked),
            audio=_one(self.audio, asked),
            video=_one(self.video, asked),
            document=_one(self.documents, asked),
        )


def _one(rows: Sequence[R], asked: Asked) -> R:
    found = decisive(rows, asked)
    if found is None:
        raise LookupError("The first row of each table of rules has to hold for every model.")
    return found
