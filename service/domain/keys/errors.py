"""What can go wrong with keys: one class for each case, each with a stable code."""

from __future__ import annotations

from typing import ClassVar

from service.domain.errors import DomainError
from service.domain.spending.errors import LedgerNotOpened


class InvalidKey(DomainError):
    """A key cannot be as it was asked for. ``field`` names the part that is wrong."""

    code: ClassVar[str] = "invalid_request"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


class UnknownKey(DomainError):
    """There is no key of that id."""

    code: ClassVar[str] = "unknown_key"

    def __init__(self) -> None:
        super().__init__("There is no key of that id. GET /v1/keys lists those there are.")


class KeyRevoked(DomainError):
    """The key was revoked, for good."""

    code: ClassVar[str] = "key_revoked"

    def __init__(self) -> None:
        super().__init__("The key is revoked, for good. Make another one.")


class FirstKeyNotAdmin(DomainError):
    """While there is no other key, one without the scope ``admin`` would shut everybody out."""

    code: ClassVar[str] = "first_key_not_admin"

    def __init__(self) -> None:
        super().__init__(
            "The first key needs the scope `admin`: from then on every request needs a key, and no other scope can "
            "make one. Make that key first, then this one with it."
        )


class LastAdminKey(DomainError):
    """Without this key nobody could make keys any more."""

    code: ClassVar[str] = "last_admin_key"

    def __init__(self) -> None:
        super().__init__(
            "This is the last valid key with the scope `admin`. Make another one first, or revoke it with "
            "`force`: then keys are made on the command line alone, and without any key the service asks for none "
            "where it listens on this machine only, and refuses everything elsewhere."
        )


class AlreadyCreated(DomainError):
    """The request with this Idempotency-Key was carried out, and the text of a key is never shown again."""

    code: ClassVar[str] = "already_created"

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        super().__init__(
            f"This request was carried out before, on the key {key_id}, whose text is shown only once. "
            "If it is lost, rotate that key under a new Idempotency-Key."
        )


class SecretDiffers(LedgerNotOpened):
    """The database was written with another secret."""

    def __init__(self) -> None:
        super().__init__(
            "The ledger's database was written with another secret, so its keys cannot be checked. Set "
            "WEIGHBRIDGE_SECRET or WEIGHBRIDGE_SECRET_FILE to the one it was made with, the same for every replica, or "
            "put the file `secret` of the data directory back from a copy."
        )


class KeysUnavailable(DomainError):
    """Whether there are keys, and which, is not known: the database could not be read since the start."""

    code: ClassVar[str] = "keys_unavailable"

    def __init__(self) -> None:
        super().__init__("The keys could not be read from the database yet. Nothing was done; try again.")
