"""The streams of an account: what is known of each, even if some may not be described."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kinesis_core import ServiceError, StreamNotFoundError
from kinesis_core.aws import Connection, stream_client
from kinesis_core.model import StreamSummary

DESCRIBED_AT_ONCE = 10
"""Streams that are described at once: an account may make 20 such calls a second."""


@frozen
class StreamLine:
    """A stream in the list of streams."""

    name: str
    summary: StreamSummary | None = None
    """None: it has not been described yet, or cannot be."""
    problem: str = ""
    """AWS's error code, if it cannot be described."""


def describe_line(connect: Callable[[str], Connection], name: str) -> tuple[str, StreamLine | None]:
    """
    Return a stream by its name. None: it was deleted since it was listed.

    Raises:
        ServiceError: The call failed, and may succeed later.
    """
    connection = connect(name)
    try:
        api = stream_client(connection, connection.streams[0])
        return name, StreamLine(name, api.describe(in_any_state=True))
    except StreamNotFoundError:
        return name, None
    except ServiceError as error:
        if error.retryable:
            raise
        return name, StreamLine(name, problem=error.code)  # a policy may allow some streams only
