"""Whether services are on this machine or at AWS, as their URLs say. A job with one of them here and another there is seldom meant."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

_AWS_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".api.amazonwebservices.com.cn")
_HERE = ("localhost", "host.docker.internal")


def is_local(url: str) -> bool:
    """Return whether *url* is that of a local server: on this machine, or in a network of containers, whose names have no dot."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _HERE or host.endswith(".localhost") or "." not in host


def is_at_aws(url: str) -> bool:
    """Return whether *url* is one of AWS's own."""
    return (urlsplit(url).hostname or "").endswith(_AWS_DOMAINS)
