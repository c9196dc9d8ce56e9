"""
Kinesis for plain Python: open a stream, list its shards, read it between two positions, or follow it.

    stream = Stream.open("orders", region="eu-west-1")
    for record in stream.read("TRIM_HORIZON").records():
        print(record.partition_key, record.data)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from kinesis_core.aws import Connection, StreamApi, WireFormat, stream_client
from kinesis_core.batch import Batch, Pages
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.errors import OptionError
from kinesis_core.follow import Follow, Following, FollowLimits, Planned, make_batch
from kinesis_core.model import (
    AtTimestamp,
    EndingPosition,
    KclApplication,
    Latest,
    ListedShard,
    Listing,
    Offset,
    RangeGroup,
    StartingPosition,
    TrimHorizon,
    by_id,
    check_times,
    with_children,
)
from kinesis_core.options import BadValueError, Parser, ending_position, starting_position
from kinesis_core.planning import Limits, Planner, PlanSettings, Wanted, log_planned
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings, read_concurrently
from kinesis_core.shards import certain_from_ms
from kinesis_credentials import CredentialSpec
from kinesis_credentials.advice import Setting
from kinesis_credentials.base import shorten

if TYPE_CHECKING:
    from kinesis_core.aws import Consumer
    from kinesis_core.leases import LeaseTable, OpenTable
    from kinesis_core.reading.fan_out import StreamConsumer

_THREADS = 64
"""Shards that are planned at once. A shard that has been idle takes several calls, and Kinesis allows 5 a second."""


@define
class Stream:
    """
    One stream to read from. Create it with `Stream.open`. Threads may share it. As a context manager it closes itself.

    It pickles, and so do its batches. A copy in another process finds credentials there, as `Stream.open` was told to. So a pickle holds
    keys only if `StaticKeys` were given. To close a copy does not remove a registered consumer.

        stream = Stream.open("orders")
        batch = stream.read("TRIM_HORIZON")
        for record in batch.records():
            print(record.partition_key, record.data)

    Attributes:
        name: The stream's name, even if it was opened by its ARN.
    """

    name: str
    _region: str
    _given_name: str
    _api: StreamApi
    _plan_settings: PlanSettings
    _read_settings: ReadSettings
    _clock: Clock = field(factory=SystemClock)
    _consumer: StreamConsumer | None = None
    _open_table: OpenTable | None = None
    _connection: Connection | None = None
    _plan_threads: int = _THREADS

    def __reduce__(self) -> tuple[Callable[..., Stream], tuple[object, ...]]:
        held = self._consumer
        consumer = None if held is None else (held.consumer, held.settings)
        settings = self._plan_settings, self._read_settings
        return _again, (type(self), self._connection, *settings, self._open_table, consumer)

    def __repr__(self) -> str:
        consumer = self._consumer
        how = "polling" if consumer is None else f"fan-out by {consumer.consumer.name}"
        return f"<Stream {self.name} in {self._region}, {how}>"

    @classmethod
    def open(
        cls,
        name_or_arn: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        credentials: CredentialSpec | None = None,
        plan: PlanSettings | None = None,
        read: ReadSettings | None = None,
        consumer: str | None = None,
        keep_consumer: bool = False,
        fan_out: FanOutSettings | None = None,
        dynamodb_endpoint_url: str | None = None,
        wire_format: WireFormat = WireFormat.JSON,
    ) -> Stream:
        """
        Return the stream, after one call that verifies that it exists.

        Without *region*, *endpoint_url* or *credentials*, botocore's are used: of the environment, then of the AWS configuration.

        *name_or_arn*: the stream.
        *region*: the default is the region of the ARN or of the endpoint, then botocore's.
        *endpoint_url*: the URL of Kinesis.
        *plan*: a `PlanSettings`: how `read` and `follow` find the ends of batches.
        *read*: a `ReadSettings`: how `Batch.records` reads.
        *consumer*: the name or ARN of a registered consumer. Batches are then read by enhanced fan-out. A consumer that is given by
        name is registered if it does not exist, and `close` removes it, unless *keep_consumer* is set. A consumer that is given by
        ARN must exist, and is kept.
        *fan_out*: settings of enhanced fan-out.
        *dynamodb_endpoint_url*: the URL of DynamoDB, which is called only for a `KclApplication`.
        *wire_format*: the format of GetRecords and GetShardIterator. `WireFormat.CBOR` needs `kinesis-core[cbor]`.

        If records are lost, `PlanSettings.fail_on_data_loss` decides whether `read` and `follow` raise a `DataLossError`.
        `ReadSettings.fail_on_data_loss` decides whether `Batch.records` raises it. To log any loss and continue, set both to False.

        Raises:
            CredentialsError: No credentials or no region are found.
            OptionError: *name_or_arn* is neither a name nor an ARN, the registered consumer belongs to another stream, or HTTP/2 or
                CBOR is not installed.
            StreamNotFoundError: The stream or the registered consumer does not exist.
            ServiceError: Kinesis cannot be reached, or access is denied.
        """
        connection = Connection.to_stream(
            name_or_arn,
            region=region,
            endpoint_url=endpoint_url,
            credentials=credentials,
            wire_format=wire_format,
        )
        open_table = partial(_open_table, connection, dynamodb_endpoint_url)
        stream = _again(cls, connection, plan or PlanSettings(), read or ReadSettings(), open_table)
        summary = stream._api.describe()
        if consumer is not None:
            from kinesis_core.reading.fan_out import StreamConsumer

            stream._consumer = StreamConsumer.open(
                connection, summary.arn, consumer, keep_consumer, fan_out or FanOutSettings(), stream._clock
            )
        return stream

    def close(self) -> None:
        """Remove the registered consumer, if it was given by name without *keep_consumer*. Later reads poll. Idempotent."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def shards(self) -> list[ListedShard]:
        """
        Return all shards that Kinesis lists, open and closed, in the order of their ids. Each has the ids of its parents and children.
        """
        return with_children(self._api.list_shards())

    def now_ms(self) -> int:
        """Return the time by the clock of Kinesis, in milliseconds since the epoch. The end of a read cannot be later."""
        return self._api.now_ms()

    def certain_from_ms(self) -> int:
        """
        Return the earliest time since which no record has expired, in milliseconds since the epoch. Makes one call.

        A read that starts at an earlier time may be an error, or may lack records.
        """
        return certain_from_ms(self._api.now_ms(), self._api.describe().retention_hours)

    def read(self, start: Start = "TRIM_HORIZON", end: str | EndingPosition = "LATEST") -> Batch:
        """
        Return all records from *start* to *end* as one batch.

        `read` only finds where the batch ends in each shard. The records are read from Kinesis while you iterate over
        `Batch.records()`, page by page.

        *start* and *end* are each text or a value:

        * "LATEST" or `Latest()`: the tip of each shard at this moment. As *end*: all records that are in the stream now. As *start*:
          only later records.
        * "AT_TIMESTAMP 2026-01-31T09:00:00Z" or `AtTimestamp(epoch_ms)`. As *start*: the records that arrived at this time or later.
          As *end*: the records that arrived before this time.
        * "3h ago", "10m" or "P3DT12H": as long before now, by the clock of Kinesis.
        * '{"shardId-000000000000": {"AFTER": "4966..."}}' or `PerShard({...})`: a record for each shard. With "AFTER", a start
          begins after the record, and an end includes it. With "AT", a start includes the record, and an end does not.

        Only *start* can also be:

        * "TRIM_HORIZON" or `TrimHorizon()`: the oldest record, without records that expire within five minutes.
        * '{"kclApplication": "billing"}' or `KclApplication("billing")`: the checkpoints of a KCL application.
        * The `offset` of another batch: the end of that batch.

        A read from a time has all records since then, or raises a `DataLossError`. With `PlanSettings(fail_on_data_loss=False)`,
        it starts at the oldest record that is left, and logs `start.expired`.

        If *start* is after *end* in some shards, the batch has no records of these shards. If this is so in all shards, it is an
        `OptionError`, unless *start* is a saved offset: then the batch is empty.

        Raises:
            OptionError: A position is malformed or in the future, *start* is after *end* in all shards, or a shard does not exist.
            OffsetError: The saved offset is damaged, has an unknown version, belongs to another stream, or is given as text.
            DataLossError: Records after *start* expired, or may have expired (unless `fail_on_data_loss` of `PlanSettings` is off).
            ServiceError: A call to Kinesis failed after its retries.
        """
        return self._read(start, end, Wanted())

    def follow(
        self,
        start: Start = "LATEST",
        until: AtTimestamp | None = None,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        max_seconds: float | None = None,
    ) -> Follow:
        """
        Yield one batch after the other from *start*, and wait while there are no new records.

            for batch in stream.follow("TRIM_HORIZON"):
                for record in batch.records():
                    print(record.data)

        *start* is a position or a saved offset, as in `read`. With *until*, which may be in the future, `follow` ends once all records
        that arrived before this time are in a batch. Without *until* and limits, `follow` never ends by itself.

        To continue after a restart, save the `offset` of each batch after you have processed it, and pass the last one as *start*.
        If no record arrives for hours, `follow` yields an empty batch. Save its offset too. The records of a child shard come in a
        later batch than the records of its parents.

        What it returns is also a stream of Arrow record batches: see `Follow`.

        These limits end it at the first one that is reached. None of them is exceeded. `Follow.offset` is then where the next `follow`
        continues: no record is left out, and none comes twice.

        *max_records*: the number of records of the stream in all batches together. An aggregate counts as one record, and is not divided.
        *max_bytes*: the bytes of their data, as they are in the stream. The first record is delivered even if it has more.
        *max_seconds*: records that are read later than this after the first batch was asked for are not delivered. The clock is that of
        this machine. A call that is being made at that time is awaited.

        With a limit, records are read before their batch is yielded, and the batch holds them in memory: up to 26 MiB of data. It
        can end inside a batch that was planned.

        Raises:
            OptionError: A limit is 0 or less, or *start* is wrong as in `read`.
            OffsetError, DataLossError, ServiceError: As in `read`. All but those of the limits are raised when a batch is asked for.
        """
        limits = FollowLimits(max_records, max_bytes, max_seconds)
        batch_limits = self._plan_settings.batch_limits.within(Limits(max_records, max_bytes))
        settings = evolve(self._plan_settings, batch_limits=batch_limits)
        plans = partial(self._plans, start, until, settings)
        return Follow(Following(self.name, limits, plans, self._pages, self._listing, self._clock))

    def _plans(
        self, start: Start, until: AtTimestamp | None, settings: PlanSettings
    ) -> Generator[Planned, None, None]:
        """Yield where reading starts, then each batch, and what is no batch because nothing is new."""
        planner = self._planner(settings)
        try:
            started = self._begin(planner, start)
            yield Planned(started, started)
            while until is None or self._api.now_ms() < until.epoch_ms:
                ended = planner.next_offset(started)
                log_planned(started, ended, planner)
                groups = () if ended is started else planner.range_groups(started, ended)
                yield Planned(started, ended, groups)
                started = ended
        finally:
            planner.close()
        yield self._plan(started.to_json(), until, Wanted())

    def _read(self, start: Start, end: str | EndingPosition, wanted: Wanted) -> Batch:
        """Return a batch with all *wanted* records from *start* to *end*, and as few others as positions can leave out."""
        return self._batch(self._plan(start, end, wanted))

    def _plan(self, start: Start, end: str | EndingPosition, wanted: Wanted) -> Planned:
        ending = _parsed(end, ending_position(self._api.now_ms), Setting.END)
        starting: Any = start if isinstance(start, Mapping) else self._start(start)
        if not isinstance(starting, Mapping):
            check_times([self._given_name], starting, ending)
            starting = self._resume(starting)
        planner = self._planner(evolve(self._plan_settings, inline_records=False))
        try:
            begin, until = wanted.positions(planner, starting, ending)
            # A read that starts after its end is a mistake of the user, unless a condition moved one of them: then it is empty.
            is_as_given = (begin, until) == (starting, ending) and not isinstance(starting, Mapping)
            started = self._begin(planner, begin)
            ended = planner.end_offset(started, until, starting if is_as_given else None)
            groups = planner.range_groups(started, ended)
        finally:
            planner.close()
        return Planned(started, ended, wanted.groups(groups, {self._given_name: self.name}))

    def _planner(self, settings: PlanSettings) -> Planner:
        apis = {self._given_name: self._api}
        return Planner(apis, settings, threads=self._plan_threads, clock=self._clock)

    def _begin(self, planner: Planner, start: Start) -> Offset:
        if isinstance(start, Mapping):
            return Offset.from_json(start)
        return planner.initial_offset(self._resume(self._start(start)))

    def _start(self, start: str | StartingPosition) -> Any:
        return _parsed(start, starting_position(self._api.now_ms), Setting.START)

    def _resume(self, position: StartingPosition) -> StartingPosition:
        if self._open_table is None or isinstance(position, (TrimHorizon, Latest, AtTimestamp)):
            return position
        from kinesis_core.leases import resume_from_applications

        return resume_from_applications(position, {self._given_name: self._api}, self._open_table)

    def _batch(self, planned: Planned) -> Batch:
        return make_batch(self.name, planned.end, planned.groups, self._pages, self._listing)

    def _listing(self) -> Listing:
        return by_id(self._api.list_shards())

    def _pages(self, groups: Sequence[RangeGroup], with_data: bool, max_page_bytes: float) -> Pages:
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        page_bytes = min(max_page_bytes, self._read_settings.max_page_bytes)
        settings = evolve(self._read_settings, max_page_bytes=page_bytes)
        polling = PollingRangeReader(lambda _: self._api, settings, rng, with_data)
        if self._consumer is None:
            return read_concurrently(
                groups, polling, settings.threads, self._clock, settings.max_buffered_bytes
            )
        return self._consumer.read(groups, polling, self._clock)


def _again(
    cls: type[Stream],
    connection: Connection,
    plan: PlanSettings,
    read: ReadSettings,
    open_table: OpenTable | None,
    consumer: tuple[Consumer, FanOutSettings] | None = None,
) -> Stream:
    """Return the stream of *connection* without a call to Kinesis."""
    (ref,) = connection.streams
    api = stream_client(connection, ref)
    stream = cls(ref.name, connection.region_of(ref), ref.label, api, plan, read)
    stream._open_table, stream._connection = open_table, connection
    if consumer is not None:
        from kinesis_core.reading.fan_out import StreamConsumer

        stream._consumer = StreamConsumer.again(connection, *consumer)
    return stream


def _open_table(connection: Connection, endpoint_url: str | None, application: KclApplication) -> LeaseTable:
    from kinesis_core.leases import open_table

    return open_table(connection, application.table, endpoint_url, region=application.region)


Start = str | StartingPosition | Mapping[str, Any]
"""A position as text or as a value, or a saved offset."""


def _parsed(position: Any, parser: Parser[Any], setting: Setting) -> Any:
    if isinstance(position, StartingPosition):  # and so are all ending positions
        return position
    if not isinstance(position, str):
        raise OptionError(
            f"is of type {type(position).__name__}. Use a position as text or as a value.", about=setting
        )
    try:
        return parser.parse(position)
    except BadValueError as error:
        hint = f" {error.hint}" if error.hint else ""
        saved = " Or pass the offset of a batch." if setting is Setting.START else ""
        raise OptionError(
            f"is '{shorten(position)}'.{hint} Use {parser.domain}.{saved}", about=setting
        ) from error
