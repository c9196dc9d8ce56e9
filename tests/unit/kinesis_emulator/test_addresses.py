"""Where a server listens, and how clients call it. Nothing listens here."""

from __future__ import annotations

import socket

import pytest

from kinesis_emulator.addresses import client_host, is_loopback, resolve


@pytest.mark.parametrize(
    ("host", "address", "called", "is_local"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", True),
        ("localhost", "127.0.0.1", "localhost", True),
        ("::1", "::1", "[::1]", True),
        ("0.0.0.0", "0.0.0.0", "127.0.0.1", False),  # noqa: S104 - nothing is bound
        ("::", "::", "[::1]", False),
        ("192.0.2.7", "192.0.2.7", "192.0.2.7", False),
        ("fe80::1%eth0", "fe80::1%eth0", "[fe80::1%eth0]", False),
    ],
)
def test_the_host_for_clients(host: str, address: str, called: str, is_local: bool) -> None:
    """A client on this machine can call the host of the URL, also if the server listens on all addresses."""
    assert (client_host(host, address), is_loopback(address)) == (called, is_local)


def test_families() -> None:
    """A host with colons is one of IPv6."""
    assert resolve("::1", 80)[0] == socket.AF_INET6
    assert resolve("127.0.0.1", 80) == (socket.AF_INET, ("127.0.0.1", 80))
