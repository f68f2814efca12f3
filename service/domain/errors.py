"""What can go wrong in the domain: one class for each case, each with a stable code.

A message says what to do next and never repeats what the caller sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar


class DomainError(Exception):
    """Base of every error of the domain. ``code`` is the stable word that clients see."""

    code: ClassVar[str] = "error"


class UnknownModel(DomainError):
    """No model of that name is in the catalog. ``nearest`` holds the known ids that look most like it."""

    code: ClassVar[str] = "unknown_model"

    def __init__(self, nearest: Sequence[str] = ()) -> None:
        self.nearest = tuple(nearest)
        hint = f" Nearest: {', '.join(self.nearest)}." if self.nearest else ""
        super().__init__(
            f"Unknown model.{hint} GET /v1/models lists all; a deployment of your own goes into the configuration file."
        )


class UnknownProvider(UnknownModel):
    """A provider was named that neither makes nor sells any model of the catalog."""

    def __init__(self, nearest: Sequence[str] = ()) -> None:
        super().__init__()
        self.nearest = tuple(nearest)
        hint = f" Nearest: {', '.join(self.nearest)}." if self.nearest else ""
        self.args = (f"Unknown provider.{hint} GET /v1/models lists the providers.",)


class UnknownTokenizer(DomainError):
    """No tokenizer of that name is loaded. ``known`` holds the names there are."""

    code: ClassVar[str] = "unknown_tokenizer"

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)
        super().__init__(f"Unknown tokenizer. Loaded: {', '.join(self.known)}. GET /v1/tokenizers lists all.")


class NoTokenizer(DomainError):
    """The model is known, but neither its vocabulary nor a stand-in is loaded. ``vocabulary`` is the missing one."""

    code: ClassVar[str] = "no_tokenizer"

    def __init__(self, vocabulary: str | None = None) -> None:
        self.vocabulary = vocabulary
        if vocabulary is None:
            advice = "send `tokenizer` in place of `model`, or give the model one in the configuration file."
        else:
            advice = f"its vocabulary is not installed: `weighbridge vocab add {vocabulary}`, then restart."
        super().__init__(f"The model is known, but there is no tokenizer for it: {advice}")


class NoIds(DomainError):
    """Ids or pieces were asked for from a vocabulary that only counts."""

    code: ClassVar[str] = "no_ids"

    def __init__(self, vocabulary: str) -> None:
        self.vocabulary = vocabulary
        super().__init__(
            f"The vocabulary {vocabulary!r} was reconstructed from counts: it tells how many tokens a text has, and "
            "not which. POST /v1/count counts with it."
        )


class InconsistentUsage(DomainError):
    """A usage contradicts itself: a part is negative or larger than its whole. ``problem`` names both."""

    code: ClassVar[str] = "inconsistent_usage"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The usage contradicts itself: {problem}. Counts are inclusive: a whole holds its parts.")


class PriceUnknown(DomainError):
    """What a call costs at most cannot be told: its price, or one of its parts (``missing``), is not known."""

    code: ClassVar[str] = "price_unknown"

    def __init__(self, missing: str) -> None:
        self.missing = missing
        super().__init__(
            f"The most that the call can cost is not known: what lacks is the {missing}. GET /v1/prices shows what is "
            "known; a price of your own goes into the configuration file."
        )


class InexactCount(DomainError):
    """An exact count was asked for, and the model's is only ``accuracy``, for ``reasons``."""

    code: ClassVar[str] = "inexact"

    def __init__(self, accuracy: str, reasons: Sequence[str]) -> None:
        self.accuracy = accuracy
        self.reasons = tuple(reasons)
        why = f" ({', '.join(self.reasons)})" if self.reasons else ""
        super().__init__(f"The count is {accuracy}{why}, not exact. Without `strict` it is answered with its bounds.")


class ChatNotRendered(DomainError):
    """The chat template refuses the messages, or cannot take them. ``problem`` is what the template's author says."""

    code: ClassVar[str] = "chat_not_rendered"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The chat template cannot render these messages: {problem}")


class TemplateNotAllowed(DomainError):
    """A caller sent a chat template of its own, and this service does not run those."""

    code: ClassVar[str] = "chat_template_not_allowed"

    def __init__(self) -> None:
        super().__init__(
            "A chat template of your own is a program, and this service does not run those. Leave it out to use the "
            "model's, or start the service with WEIGHBRIDGE_ALLOW_CHAT_TEMPLATE=1."
        )


class InvalidConfig(DomainError):
    """A configuration or data file is refused. ``line`` counts from 1; 0 where the whole file is meant."""

    code: ClassVar[str] = "invalid_config"

    def __init__(self, path: Path, line: int, problem: str) -> None:
        self.path = path
        self.line = line
        self.problem = problem
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
