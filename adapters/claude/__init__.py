"""The claude family: counts as the vendor's own counter gives them, from a vocabulary that was reconstructed.

The vendor publishes no vocabulary from Claude 3 on. PyPI ctok (MIT) measured which pieces cost one token and how a text
becomes a stream of them; the count is the least number of pieces that make up the stream. Its pieces are vendored here,
and its rules are written anew: ``characters`` (what a character is), ``cleaning`` and ``marking`` (from text to marked
stream), ``tiling`` (the least number of pieces). ``adapters.native`` does the same in C.
"""

from adapters.claude.characters import small_letters, traits
from adapters.claude.counter import ClaudeCounter, PlainTiles, Tiles
from adapters.claude.tiling import Tiling, read_pieces

__all__ = ["ClaudeCounter", "PlainTiles", "Tiles", "Tiling", "read_pieces", "small_letters", "traits"]
