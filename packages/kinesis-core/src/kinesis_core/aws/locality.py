"""Whether a service is on this machine, as its URL says. A job with one service here and another one at AWS is seldom meant."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

_HERE = ("localhost", "host.docker.internal")


def is_local(url: str) -> bool:
    """Return whether *url* is that of a local server: on this machine, or in a network of containers, whose names have no dot."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _HERE or host.endswith(".localhost") or "." not in host
