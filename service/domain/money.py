"""Money as exact decimals: rates are US dollars per so many units, costs are never rounded here."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation

_EXACT = Context(prec=80, traps=[Inexact, InvalidOperation])
_WIDE = Context(prec=50)


def canonical(amount: Decimal) -> str:
    """``amount`` as clients read it: no exponent, no trailing zeros, no sign on zero (``2.5``, ``10``, ``0``)."""
    if not amount:
        return "0"
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def product(rate: Decimal, quantity: Decimal, per: int, factor: Decimal = Decimal(1)) -> Decimal:
    """``rate * quantity * factor / per``: exact where ``per`` is a power of ten, else to 50 digits (hours)."""
    dollars = _EXACT.multiply(_EXACT.multiply(rate, quantity), factor)
    return _WIDE.divide(dollars, Decimal(per)) if per != 1 else dollars


def total(amounts: list[Decimal]) -> Decimal:
    """The exact sum."""
    result = Decimal(0)
    for amount in amounts:
        result = _EXACT.add(result, amount)
    return result
