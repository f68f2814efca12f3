"""Tokenizers of every family behind one port: no HTTP, no money.

``adapters.port`` says what a tokenizer does, ``adapters.loader`` builds one from its spec.
"""
