"""How a connection is closed: by a TCP RST, or so that the client can still read the last bytes."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress

_LEAVE_S = 30.0
"""How long a client may take to close a connection after its last bytes."""


def reset(connection: socket.socket) -> None:
    """Close *connection* with a TCP RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def end_after(connection: socket.socket, last: bytes = b"") -> None:
    """
    Send the *last* bytes without encryption, and wait until the client closes the connection.

    A connection that is closed while the client still sends is reset, and a client may then not see the last bytes.
    """
    plain = socket.socket  # an encrypted socket has methods of its own
    with suppress(OSError):
        plain.settimeout(connection, _LEAVE_S)
        if last:
            plain.sendall(connection, last)
        plain.shutdown(connection, socket.SHUT_WR)
    await_close(connection)


def await_close(connection: socket.socket) -> None:
    """Wait until the client closes the connection."""
    plain = socket.socket
    with suppress(OSError):
        plain.settimeout(connection, _LEAVE_S)
        while plain.recv(connection, 65_536):
            pass
