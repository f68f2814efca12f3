"""Tokenizers that come as a SentencePiece model: BPE and Unigram, with or without byte fallback.

`tokenizer` serves a model, `sampling` draws random encodings, `model` reads what the library does not tell about a
file, and `check` tries an untrusted one in a process of its own.
"""

from adapters.sentencepiece.check import check_model
from adapters.sentencepiece.tokenizer import SentencePieceTokenizer

__all__ = ["SentencePieceTokenizer", "check_model"]
