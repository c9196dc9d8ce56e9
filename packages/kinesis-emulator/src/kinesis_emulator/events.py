"""
The events that the emulator logs, in the form that all packages share: `event key=value ...`, and the facts under `context`.

The emulator needs nothing but the standard library, so it has this form of its own. A test compares the two.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

LOGGER = "kinesis_emulator"
_log = logging.getLogger(LOGGER)


class Event(NamedTuple):
    """The declaration of one event, with the fields of `kinesis_credentials.events.Event`."""

    name: str
    level: str
    where: str
    meaning: str
    facts: Mapping[str, str]
    optional: Mapping[str, str]
    example: str


EVENTS = (
    Event(
        "call.failed",
        "ERROR",
        "emulator",
        "An error occurred inside the emulator. The response is `InternalFailure`. The traceback follows the line.",
        {"call": "the operation"},
        {},
        "call.failed call=ListShards",
    ),
    Event(
        "connection.failed",
        "ERROR",
        "emulator",
        "An error occurred inside the emulator while it served a connection, which is closed. The traceback follows the line.",
        {"client": "the address and port of the client"},
        {},
        "connection.failed client=127.0.0.1:50710",
    ),
    Event(
        "connection.refused",
        "WARNING",
        "emulator",
        "A client does not speak a protocol of this port, or its HTTP/2 is malformed. Its connection is closed.",
        {"client": "the address and port of the client", "reason": "the protocol, and what to change"},
        {},
        "connection.refused client=127.0.0.1:50710 reason=TLS on a plain port. Use http://, or start the emulator with --tls.",
    ),
)


def log_failure(call: str) -> None:
    """Log the exception that is being handled, as the failure of *call*."""
    _log.exception("call.failed call=%s", call, extra={"context": {"call": call}})


def log_connection_failure(client: str) -> None:
    """Log the exception that is being handled, as the failure of the connection of *client*."""
    _log.exception("connection.failed client=%s", client, extra={"context": {"client": client}})


def log_refusal(client: str, reason: str) -> None:
    """Log that the connection of *client* is closed."""
    facts = {"client": client, "reason": reason}
    _log.warning("connection.refused client=%s reason=%s", client, reason, extra={"context": facts})
