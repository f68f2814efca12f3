"""The official clients of OpenAI, Anthropic and Google, sent to this service with nothing but another address.

Two environments hold two major versions of the Python clients (``current.in``, ``previous.in``), ``node`` those of
Node.js. `make sdks` installs all three from hashed locks into ``.sdks/``; `make sdks-lock` writes the locks anew.
"""
