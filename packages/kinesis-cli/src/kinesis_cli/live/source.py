"""The streams of an account, called for `kinesis top`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from attrs import define, field

from kinesis_cli.live.views import ReadersOf, StreamView, no_readers
from kinesis_cli.live.watched_stream import LIST_EVERY_S, WatchedStream
from kinesis_cli.parallel import call_each
from kinesis_cli.stream_lines import DESCRIBED_AT_ONCE, StreamLine, describe_line
from kinesis_core.aws import Connection, list_streams, stream_client
from kinesis_core.clock import Clock, SteadyClock


@define
class KinesisSource:
    """
    Calls Kinesis. Each stream is watched from the first call for it on.

    *connect* returns the connection to a stream, *account* the one to the account, if streams are listed.
    """

    connect: Callable[[str], Connection]
    account: Callable[[], Connection]
    readers_of: ReadersOf = no_readers
    clock: Clock = field(factory=SteadyClock)
    """It never goes back: then nothing would be listed for as long."""
    _watched: dict[str, WatchedStream] = field(factory=dict, init=False)
    _lines: dict[str, StreamLine] = field(factory=dict, init=False)
    """All streams by name."""
    _due: list[str] = field(factory=list, init=False)
    """Streams that will be described next."""
    _list_at_s: float = field(default=0.0, init=False)

    def streams(self) -> Sequence[StreamLine]:
        """Return all streams. Each call describes some that are not described yet."""
        now_s = self.clock.now_s()
        if now_s >= self._list_at_s and not self._due:
            names = list_streams(self.account())
            self._due = sorted(names, key=lambda name: name in self._lines)
            self._lines = {name: self._lines.get(name, StreamLine(name)) for name in names}
            self._list_at_s = now_s + LIST_EVERY_S
        described, waiting = self._due[:DESCRIBED_AT_ONCE], self._due[DESCRIBED_AT_ONCE:]
        self._due = [*waiting, *described]  # a call that fails is made again, after the others
        for name, line in call_each(partial(describe_line, self.connect), described):
            if line is None:
                self._lines.pop(name, None)
            else:
                self._lines[name] = line
        self._due = waiting
        return list(self._lines.values())

    def stream(self, name_or_arn: str) -> StreamView:
        """Return one stream, with what was written since the last call."""
        watched = self._watched.get(name_or_arn) or self._watch(name_or_arn)
        watched.list_shards()
        watched.read()
        watched.measure(self.readers_of, name_or_arn)
        return watched.view()

    def _watch(self, name_or_arn: str) -> WatchedStream:
        connection = self.connect(name_or_arn)
        api = stream_client(connection, connection.streams[0])
        watched = self._watched[name_or_arn] = WatchedStream(connection, api, self.clock)
        return watched
