"""Byte pair encoding in plain Python: splitting, merging, a tokenizer, and a trainer.

The slow and obvious twin of faster engines, and the one that answers where they fail: no recursion, nothing quadratic.
"""
