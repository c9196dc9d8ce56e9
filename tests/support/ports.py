"""Ports for programs that need one as an argument, and a port that refuses every connection."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

HOST = "127.0.0.1"
PORTS = range(16_000, 31_000)
"""
Below the range that systems assign from, so that no other program gets one while its own is not running. Above the ports that the pages
of the documentation use: they may run at the same time.
"""
STEP = 50


def _free_ports() -> Iterator[int]:
    """Yield free ports; tests that run at the same time are other processes, and start at other numbers."""
    begin = os.getpid() * STEP % len(PORTS)
    for port in islice(cycle(PORTS), begin, None):
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            continue
        yield port


_ports = _free_ports()


def free_port() -> int:
    """Return a port at which nobody listens, and another one each time."""
    return next(_ports)


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yield a port at which nobody listens, and nobody else can as long as this lasts."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        yield int(taken.getsockname()[1])
