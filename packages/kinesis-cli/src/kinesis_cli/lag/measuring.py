"""Measures how far readers are behind: reads their positions, then looks at each shard from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from kinesis_cli.checkpoints import open_folder
from kinesis_cli.ending import CommandError
from kinesis_cli.lag.judging import Times, judge, needs_standing
from kinesis_cli.lag.lease_tables import read_table
from kinesis_cli.lag.lineage import Measurement, apply_positions
from kinesis_cli.lag.probing import Unread, calls_on, find_unread
from kinesis_cli.lag.readings import Checkpoint, LeaseApplication, Reader, Reading
from kinesis_cli.lag.results import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.lag.spark_checkpoints import read_checkpoint
from kinesis_cli.lease_stores import open_leases
from kinesis_cli.parallel import call_each
from kinesis_cli.wording import in_words_of_commands as words

if TYPE_CHECKING:
    from kinesis_core import Cut
    from kinesis_core.aws import Connection, StreamApi
    from kinesis_core.clock import Clock
    from kinesis_core.model import Listing, StreamSummary
    from kinesis_core.shards import ShardCalls

_HOUR_MS = 3_600_000


def measure_lag(
    connection: Connection, readers: Sequence[Reader], dynamodb_endpoint_url: str | None = None
) -> StreamLag:
    """
    Return how far *readers* are behind in the stream of *connection*. A reader whose position cannot be read has a problem.

    It makes two calls for each shard and reader, and a few more where a page is empty or a position has expired.

    Raises:
        StreamNotFoundError, ServiceError, CredentialsError: The stream itself cannot be reached.
    """
    from kinesis_core.aws import stream_client
    from kinesis_core.clock import SteadyClock

    api = stream_client(connection, connection.streams[0])

    def read(reader: Reader, summary: StreamSummary) -> list[Reading]:
        match reader:
            case Checkpoint(location):
                return read_checkpoint(open_folder(location), summary.name, summary.arn)
            case LeaseApplication(table, file):
                store = open_leases(lambda: connection, table, dynamodb_endpoint_url, file)
                return [read_table(store, summary)]

    return measure(api, readers, read, SteadyClock())


ReadPositions = Callable[[Reader, "StreamSummary"], list[Reading]]


def measure(api: StreamApi, readers: Sequence[Reader], read: ReadPositions, clock: Clock) -> StreamLag:
    """Return how far *readers* are behind. *read* returns their positions. Raises as `measure_lag` does."""
    from kinesis_core.model import by_id

    summary = api.describe()
    read_first = [found for reader in readers for found in _try_to_read(reader, summary, read)]
    # The shards are listed after the positions are read: a shard that has a position was listed before.
    listing = by_id(api.list_shards())
    retention_ms = summary.retention_hours * _HOUR_MS
    probing = _Probing(api, retention_ms, clock)
    return StreamLag(
        stream=summary.name,
        arn=summary.arn,
        retention_ms=retention_ms,
        readers=probing.measure(read_first, listing),
        measured_ms=api.now_ms(),
    )


def _try_to_read(reader: Reader, summary: StreamSummary, read: ReadPositions) -> list[Reading | ReaderLag]:
    from kinesis_core import KinesisError

    try:
        found = read(reader, summary)
        for reading in found:
            _check_created(reading, summary)
    except (CommandError, KinesisError) as error:
        return [ReaderLag(reader=reader.name, kind="", problem=words(error))]
    return list(found)


def _check_created(reading: Reading, summary: StreamSummary) -> None:
    from kinesis_core.model import show_time

    if reading.created_ms not in (None, summary.created_ms):
        raise CommandError(
            f"Stream {summary.name} was deleted and created again. The positions in {reading.reader} belong to the stream created at "
            f"{show_time(reading.created_ms or 0)}; the present stream was created at {show_time(summary.created_ms)}. The query needs "
            "a new checkpoint directory."
        )


@frozen
class _Probing:
    """Looks at the shards of one stream, several at a time."""

    api: StreamApi
    retention_ms: int
    clock: Clock

    def measure(self, readings: Sequence[Reading | ReaderLag], listing: Listing) -> list[ReaderLag]:
        placed = [(each, *apply_positions(each, listing)) for each in readings if isinstance(each, Reading)]
        wanted: dict[str, list[Measurement]] = {}
        for _, measurements, _ in placed:
            for measurement in measurements:
                wanted.setdefault(measurement.shard_id, []).append(measurement)
        found = dict(call_each(self._look_at_shard, list(wanted.values())))
        measured = iter(
            [
                _reader_lag(reading, settled, [found[m.shard_id][_key(m)] for m in measurements])
                for reading, measurements, settled in placed
            ]
        )
        return [each if isinstance(each, ReaderLag) else next(measured) for each in readings]

    def _look_at_shard(self, measurements: Sequence[Measurement]) -> tuple[str, dict[object, ShardLag]]:
        """Return the lag of several readers in one shard. Readers at the same position share the calls."""
        calls = calls_on(self.api, measurements[0].shard_id, self.clock)
        looks: dict[Cut, Unread] = {}
        return calls.shard_id, {_key(each): self._lag(calls, each, looks) for each in measurements}

    def _lag(self, calls: ShardCalls, measurement: Measurement, looks: dict[Cut, Unread]) -> ShardLag:
        from kinesis_core import After, At, InvalidRequestError, StreamNotFoundError, ThrottledError
        from kinesis_core.shards import find_record

        cut, standing = measurement.cut, None
        try:
            look = looks[cut] = looks.get(cut) or find_unread(calls, cut)
            times = Times(self.retention_ms, self.api.now_ms())
            if isinstance(cut, (At, After)) and needs_standing(measurement, look, times):
                standing = find_record(calls, cut.number, is_absent=True)
        except StreamNotFoundError as error:
            return measurement.shard_lag(State.GONE, None, words(error))
        except (InvalidRequestError, ThrottledError) as error:
            unknown = measurement.shard_lag(State.UNKNOWN, None, words(error))
            return evolve(unknown, is_refused=isinstance(error, InvalidRequestError))
        return judge(measurement, look, standing, times)


def _key(measurement: Measurement) -> object:
    return measurement.position, measurement.waits


def _reader_lag(reading: Reading, settled: Sequence[ShardLag], measured: Sequence[ShardLag]) -> ReaderLag:
    if measured and all(shard.is_refused for shard in measured):
        problem = (
            f"{reading.reader} has positions of another stream, or of one that was deleted and created again: "
            f"Kinesis refuses them in all shards. Check the name, or give the reader a new start. ({measured[0].note})"
        )
        return ReaderLag(reader=reading.reader, kind=reading.kind, problem=problem)
    return ReaderLag(
        reader=reading.reader,
        kind=reading.kind,
        shards=sorted([*settled, *measured], key=lambda shard: shard.shard_id),
        batch=reading.batch,
        planned=reading.planned,
        committed_ms=reading.committed_ms,
        notes=reading.notes,
    )
