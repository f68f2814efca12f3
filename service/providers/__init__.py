"""The vendors' own counting endpoints, asked over HTTP. Nothing is asked unless a key is configured."""

from service.providers.counter import Limits, VendorCounter
from service.providers.options import vendor_counter

__all__ = ["Limits", "VendorCounter", "vendor_counter"]
