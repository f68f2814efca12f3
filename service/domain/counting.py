"""Counting one text for one model or tokenizer: tokens, bounds, how sure they are, and the ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.port import Stop, TokenCounter, Tokenizer, count_within, well_formed
from service.domain.catalog import Accuracy, Catalog, Estimator, ModelSpec, Resolution
from service.domain.errors import InexactCount, NoIds, NoTokenizer, UnknownTokenizer
from service.domain.literals import Literal, LiteralScanner
from service.domain.notices import NO_NOTICES, LiteralNotice, Notice


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """Which tokenizer counted, and with what engine; ``sha256`` is the vocabulary file's.

    ``added_tokens`` (BOS, EOS and the like) are what its library puts around a text when asked; no count holds them.
    """

    name: str
    family: str
    engine: str
    sha256: str
    added_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where the tokens come from; the four add up to the total.

    ``images`` holds sounds, films and documents too.
    """

    text: int
    framing: int = 0
    tools: int = 0
    images: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """The tokens of a text or a request. ``low`` and ``high`` bound the vendor's count; both are ``tokens`` when exact.

    ``characters`` are Unicode code points of the text as sent, ``utf8_bytes`` its UTF-8 length; of a request, those of
    all its texts. The ratios are of the text's own tokens, ``None`` where they would divide by zero.
    """

    model: str | None
    provider: str | None
    rule: str | None
    tokenizer: TokenizerInfo
    tokens: int
    low: int
    high: int
    accuracy: str
    accuracy_reasons: Sequence[str]
    characters: int
    utf8_bytes: int
    tokens_per_character: float | None
    characters_per_token: float | None
    breakdown: Breakdown
    warnings: Sequence[Notice]


@dataclass(frozen=True, slots=True)
class CountBatch:
    """Several texts counted apart. The totals are sums, and the accuracy is the worst of the items."""

    items: Sequence[Count]
    tokens: int
    low: int
    high: int
    accuracy: str


@dataclass(frozen=True, slots=True)
class Scale:
    """What a text is weighed with: a tokenizer, and how its count becomes the model's count.

    With ``stand_in`` the tokenizer is not the model's own: its ids and special tokens mean nothing to the model, whose
    own vocabulary, if it has a public one, is ``wanted``.
    """

    tokenizer: TokenCounter
    info: TokenizerInfo
    scanner: LiteralScanner
    accuracy: Accuracy
    reasons: tuple[str, ...] = ()
    estimator: Estimator | None = None
    stand_in: bool = False
    wanted: str | None = None
    notices: tuple[Notice, ...] = ()
    model: str | None = None
    provider: str | None = None
    vendor: str | None = None
    rule: str | None = None

    @property
    def label(self) -> str | None:
        """The model's id, with its seller in front where that is not its vendor."""
        return self.model if self.provider == self.vendor else f"{self.provider}/{self.model}"


class Weigher:
    """Finds the scale for a model or a tokenizer, and counts texts on it. Every tokenizer is loaded beforehand."""

    def __init__(self, catalog: Catalog, tokenizers: Mapping[str, TokenCounter], marks: frozenset[str]) -> None:
        self.catalog = catalog
        self.tokenizers = tokenizers
        self._scanners = {
            name: LiteralScanner({*t.special_tokens, *t.always_matched}, marks) for name, t in tokenizers.items()
        }
        self._by_tokenizer = {name: self._plain(tokenizer) for name, tokenizer in tokenizers.items()}
        self._by_model: dict[tuple[str, str, str, str], Scale] = {}

    def scale_of_tokenizer(self, name: str) -> Scale:
        """The scale of one vocabulary. Raises ``UnknownTokenizer``."""
        try:
            return self._by_tokenizer[name]
        except KeyError:
            raise UnknownTokenizer(sorted(self._by_tokenizer)) from None

    def scale_of(self, found: Resolution) -> Scale:
        """The scale of a model that was resolved. Raises ``NoTokenizer``."""
        key = (found.model.provider, found.model.id, found.provider, found.rule)
        scale = self._by_model.get(key)
        if scale is None:
            scale = self._by_model[key] = self._resolved(found)
        return scale

    def _plain(self, tokenizer: TokenCounter) -> Scale:
        info = TokenizerInfo(
            tokenizer.name, tokenizer.family.value, tokenizer.engine, tokenizer.sha256, tokenizer.added_tokens
        )
        return Scale(tokenizer, info, self._scanners[tokenizer.name], Accuracy.EXACT)

    def _resolved(self, found: Resolution) -> Scale:
        spec = found.model
        own = self._by_tokenizer.get(spec.tokenizer) if spec.tokenizer else None
        if own is not None:
            base, accuracy, reasons = own, spec.accuracy, spec.reasons
            estimator, notices = spec.own_bounds, NO_NOTICES
        else:
            base, accuracy, reasons, estimator, notices = self._stand_in(spec)
        return Scale(
            base.tokenizer,
            base.info,
            base.scanner,
            accuracy,
            reasons,
            estimator,
            stand_in=own is None,
            wanted=spec.tokenizer,
            notices=notices,
            model=spec.id,
            provider=found.provider,
            vendor=spec.provider,
            rule=found.rule,
        )

    def _stand_in(self, spec: ModelSpec) -> tuple[Scale, Accuracy, tuple[str, ...], Estimator, tuple[Notice, ...]]:
        estimator = spec.estimator
        base = self._by_tokenizer.get(estimator.tokenizer) if estimator else None
        if estimator is None or base is None:
            raise NoTokenizer(spec.tokenizer)
        if spec.tokenizer is None:
            return base, Accuracy.APPROXIMATE, (*spec.reasons, "stand_in_vocabulary"), estimator, NO_NOTICES
        notice = Notice(
            "vocabulary_not_installed",
            f"Counted with {estimator.tokenizer} in place of {spec.tokenizer}, which is not installed: "
            f"`weighbridge vocab add {spec.tokenizer}`, then restart.",
            "model",
        )
        return base, Accuracy.APPROXIMATE, (*spec.reasons, "vocabulary_not_installed"), estimator, (notice,)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A text's count by its tokenizer, ``None`` where counting was stopped, and what else an answer says of it."""

    counted: int | None
    ordinary: str
    characters: int
    utf8_bytes: int
    notices: tuple[Notice, ...]


def count_text(
    scale: Scale, text: str, *, path: str = "text", parse_special: bool = False, stop: Stop | None = None
) -> Count:
    """Count ``text`` on ``scale``; with ``parse_special`` a special token's literal is the one token it names.

    A stand-in's special tokens are not the model's, so on a stand-in all is ordinary text.
    """
    found = weigh(scale, text, path=path, parse_special=parse_special, stop=stop)
    counted = found.counted or 0
    bounds = scale.estimator.bounds(counted, found.ordinary) if scale.estimator else (counted, counted, counted)
    return measured(scale, bounds, found.characters, found.utf8_bytes, found.notices)


def weigh(
    scale: Scale, text: str, *, path: str, parse_special: bool, stop: Stop | None, most: int | None = None
) -> Weighed:
    """Count ``text`` by the tokenizer of ``scale``. Past ``most`` tokens it stops, unless special tokens are parsed."""
    parse_special = parse_special and not scale.stand_in
    notices = scale.notices
    try:
        utf8_bytes = len(text) if text.isascii() else len(text.encode())
        ordinary = text
    except UnicodeEncodeError:
        ordinary = well_formed(text)
        utf8_bytes = len(ordinary.encode())
        notices += (Notice("lone_surrogate", "A surrogate that is half a character was replaced by U+FFFD.", path),)
    counted: int | None
    if parse_special and isinstance(scale.tokenizer, Tokenizer):
        counted = len(scale.tokenizer.encode(ordinary, parse_special=True, stop=stop))
    elif most is None:
        counted = scale.tokenizer.count(ordinary, stop=stop)
    else:
        counted = count_within(scale.tokenizer, ordinary, most, stop=stop)
    notices += literal_notices(scale, text, path, parse_special=parse_special, stop=stop)
    return Weighed(counted, ordinary, len(text), utf8_bytes, notices)


def measured(
    scale: Scale, bounds: tuple[int, int, int], characters: int, utf8_bytes: int, notices: Sequence[Notice]
) -> Count:
    """A text's count on ``scale``; ``bounds`` are its tokens, low and high."""
    tokens, low, high = bounds
    return Count(
        scale.model,
        scale.provider,
        scale.rule,
        scale.info,
        tokens,
        low,
        high,
        scale.accuracy.value,
        scale.reasons,
        characters,
        utf8_bytes,
        tokens / characters if characters else None,
        characters / tokens if tokens else None,
        Breakdown(tokens),
        notices,
    )


def count_texts(
    scale: Scale, texts: Sequence[str], *, parse_special: bool = False, stop: Stop | None = None
) -> CountBatch:
    """Count each of ``texts`` apart; the total is their sum."""
    items = [
        count_text(scale, text, path=f"texts[{i}]", parse_special=parse_special, stop=stop)
        for i, text in enumerate(texts)
    ]
    return CountBatch(
        items,
        sum(item.tokens for item in items),
        sum(item.low for item in items),
        sum(item.high for item in items),
        scale.accuracy.value,
    )


def own_tokenizer(scale: Scale) -> Tokenizer:
    """What gives the model's own ids. Raises ``NoTokenizer`` where they would be a stand-in's, and ``NoIds``."""
    if scale.stand_in:
        raise NoTokenizer(scale.wanted)
    return tokenizer_of(scale)


def tokenizer_of(scale: Scale) -> Tokenizer:
    """What gives ids, be they a stand-in's. Raises ``NoIds`` where the vocabulary only counts."""
    if not isinstance(scale.tokenizer, Tokenizer):
        raise NoIds(scale.tokenizer.name)
    return scale.tokenizer


def require_exact_count(count: Count) -> None:
    """Raise ``InexactCount`` unless ``count`` is the vendor's own."""
    if count.accuracy != Accuracy.EXACT:
        raise InexactCount(count.accuracy, count.accuracy_reasons)


def require_exact(scale: Scale) -> None:
    """Raise ``InexactCount`` unless counts on ``scale`` are the vendor's own."""
    if scale.accuracy is not Accuracy.EXACT:
        raise InexactCount(scale.accuracy.value, scale.reasons)


def literal_notices(
    scale: Scale, text: str, path: str, *, parse_special: bool = False, stop: Stop | None = None
) -> tuple[Notice, ...]:
    """A warning for each special-token literal in ``text``."""
    return hit_notices(scale, scale.scanner.scan(text, stop), path, parse_special=parse_special)


def hit_notices(scale: Scale, hits: Sequence[Literal], path: str, *, parse_special: bool) -> tuple[Notice, ...]:
    """A warning for each literal that was found, but for those that were read as the tokens they name."""
    if not hits:
        return ()
    own, matched = scale.tokenizer.special_tokens, scale.tokenizer.always_matched
    return tuple(
        LiteralNotice(
            "special_token_literal",
            f"The text holds the special-token literal {hit.literal}; "
            + (
                "this vocabulary reads it as one token."
                if hit.literal in matched
                else "it is counted as ordinary text."
            ),
            path,
            hit.offset,
            hit.occurrences,
        )
        for hit in hits
        if not (parse_special and hit.literal in own)
    )
