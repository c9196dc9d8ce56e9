"""What the screens of `kinesis top` show, as values, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import frozen

from kinesis_cli.stream_lines import StreamLine
from kinesis_cli.traffic import Sample, add_up
from kinesis_core.model import StreamSummary


@frozen
class LiveReader:
    """A program, or several, that read a stream."""

    name: str
    how: str
    """By what it is known: `enhanced fan-out`, `checkpoint`, `application`."""
    lag_ms: int | None = None
    """How old the oldest record was that it had not read, when that was measured. None: this is not known."""
    status: str = ""
    measured_ms: int | None = None
    """When the lag was measured, by the service's clock."""
    committed_ms: int | None = None
    """When it last committed that it has read records. None: nothing tells it."""


ReadersOf = Callable[[str], Sequence[LiveReader]]
"""Returns the readers of a stream, given by name or ARN, with their lag. It is called in a thread, every few seconds."""


@frozen
class ShardLine:
    """An open shard."""

    shard_id: str
    hash_start: int
    hash_end: int
    sample: Sample | None = None
    """Its latest records. None: it was not read yet, or other readers use up its quota, or the stream has too many shards."""

    @property
    def load(self) -> float:
        return 0.0 if self.sample is None else self.sample.load


@frozen
class StreamView:
    """A stream at one moment."""

    summary: StreamSummary
    at_ms: int
    """The service's clock."""
    shards: tuple[ShardLine, ...]
    """Open shards, in the order of their hash keys."""
    readers: tuple[LiveReader, ...] = ()
    unread_shards: int = 0
    """Shards beyond the number that is read."""

    @property
    def records_per_s(self) -> float:
        """What comes into the shards that are read."""
        return add_up(line.sample for line in self.shards if line.sample is not None).records_per_s


class ViewSource(Protocol):
    """Where the screens get their values. Each call may take seconds, and is made in a separate thread."""

    def streams(self) -> Sequence[StreamLine]:
        """Return all streams of the account and region, sorted by name. Some are described in later calls only."""
        ...

    def stream(self, name_or_arn: str) -> StreamView:
        """Return one stream, with what was written since the last call."""
        ...


def no_readers(_: str) -> Sequence[LiveReader]:
    """Return no readers: none were named on the command line."""
    return ()
