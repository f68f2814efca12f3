"""Unicode as the reference libraries know it: character classes, small letters, and normalization to NFC and NFKC.

The interpreter's own tables belong to another version of Unicode, which changes with the interpreter and differs by
thousands of code points. The tables here are taken from the libraries themselves: classes from tiktoken, normalization
and small letters from Hugging Face tokenizers. ``python -m adapters.unicode.generate`` writes them anew.
"""

from adapters.unicode.case import alphabetic_marks, lowercase
from adapters.unicode.classes import UnknownProperty, code_points
from adapters.unicode.normalization import Change, UnknownForm, changes, combining_marks, normalize, settled
from adapters.unicode.ranges import LAST_CODE_POINT, Ranges, complement, intersection, union

__all__ = [
    "LAST_CODE_POINT",
    "Change",
    "Ranges",
    "UnknownForm",
    "UnknownProperty",
    "alphabetic_marks",
    "changes",
    "code_points",
    "combining_marks",
    "complement",
    "intersection",
    "lowercase",
    "normalize",
    "settled",
    "union",
]
