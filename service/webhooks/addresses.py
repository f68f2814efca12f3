"""Which addresses a webhook may have: public ones alone, whatever form they are written in."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host's name. Raises ``OSError`` where there are none."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # what a network without IPv4 makes of every IPv4 address


class AddressRefused(Exception):
    """A host is, or also is, an address that is not public."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """As the system resolves it."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def addresses_of(host: str, port: int, resolve: Resolve, *, allow_private: bool) -> list[str]:
    """Where to connect to. Raises ``AddressRefused`` where one of them is not public, and ``OSError``.

    A name is resolved once, and the connection goes to what was checked: it cannot mean another machine in between.
    """
    found = list(dict.fromkeys(await resolve(host, port)))
    if not found:
        raise OSError("the name has no address")
    if not allow_private and not all(is_public(address) for address in found):
        raise AddressRefused
    return found


def is_public(text: str) -> bool:
    """Whether an address can be reached over the public internet, as can those that it carries inside."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if address in _NAT64:
        address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return all(_is_global(each) for each in (address, *_inside(address)))


def _is_global(address: Address) -> bool:
    local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local  # of old networks, and routed there
    return address.is_global and not (address.is_multicast or address.is_reserved or local)


def _inside(address: Address) -> list[Address]:
    """The IPv4 addresses that an IPv6 address stands for: mapped, 6to4 or Teredo."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    return [each for each in found if each is not None]
