"""Hand-written stand-ins for the ports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adapters.port import NO_TOKENS, Family, Piece, Stop


class WordTokenizer:
    """One token a word: enough to test what surrounds a tokenizer. ``during`` runs inside every count."""

    family = Family.BPE
    engine = "python"
    sha256 = "0" * 64
    added_tokens = 0
    always_matched = NO_TOKENS
    vocab_size = 3

    def __init__(self, name: str = "words", during: Callable[[Stop | None], None] = lambda _stop: None) -> None:
        self.name = name
        self.special_tokens = {"<|stop|>": 2, "<s>": 1}
        self._during = during

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        self._during(stop)
        return len(text.split())

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]

    def fits(self, text: str, limit: int) -> bool:
        return self.count(text) <= limit

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        return [self.special_tokens.get(word, 0) if parse_special else 0 for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join("word" for _ in ids)

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        return self.decode(ids).encode()

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        return [Piece(i, b"word", 0, len(text)) for i in self.encode(text, parse_special=parse_special)]
