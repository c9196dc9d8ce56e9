"""Where a server listens, and what clients on this machine call it."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

HOST = "127.0.0.1"
"""The default: only programs on this machine can connect."""


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """
    Return the family and the address to listen on.

    Raises:
        OSError: The host has no address here.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return found[0][0], found[0][4]


def is_loopback(address: str) -> bool:
    """Return whether only programs on this machine can reach an *address*."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def client_host(host: str, address: str) -> str:
    """Return what a URL names for a server that listens on the *address* of *host*: a host that this machine can reach."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found.is_unspecified:
        return HOST if found.version == 4 else "[::1]"
    return f"[{host}]" if ":" in host else host
