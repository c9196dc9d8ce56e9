"""
Kinesis for plain Python: open a stream, see its shards, read it from one place to another, or follow it.

    stream = Stream.open("orders", region="eu-west-1")
    for record in stream.read("TRIM_HORIZON").records():
        print(record.partition_key, record.data)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from attrs import asdict, define, field, frozen

from kinesis_core.aws import Connection, StreamApi, stream_client
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.errors import OptionError
from kinesis_core.model import (
    EndingPosition,
    Offset,
    Page,
    RangeGroup,
    Shard,
    ShardRange,
    StartingPosition,
    by_id,
    index_children,
)
from kinesis_core.options import BadValueError, Parser, ending_position, starting_position
from kinesis_core.planning import Planner, PlanSettings
from kinesis_core.reading import (
    DEFAULT_COLUMNS,
    FanOutSettings,
    PollingRangeReader,
    ReadSettings,
    UserRecord,
    read_concurrently,
    user_records,
)
from kinesis_credentials import CredentialSpec

if TYPE_CHECKING:
    import pyarrow

    from kinesis_core.reading.fan_out import StreamConsumer

_COLUMN_NAMES = tuple(column.name for column in DEFAULT_COLUMNS)
Pages = Iterator[tuple[ShardRange, Page]]


@frozen
class Batch:
    """
    An exact piece of a stream, fixed before anything of it is read: reading it twice gives the same records.

    Attributes:
        offset: Where it ends, ready for JSON. Save it when the batch is done, and give it as `start` to go on there.
    """

    offset: dict[str, Any]
    _name: str
    _chains: Sequence[RangeGroup]
    _read: Callable[[Sequence[RangeGroup], bool], Pages] = field(repr=False)

    def records(self, *, deaggregate: bool = True) -> Iterator[UserRecord]:
        """Yield the (user) records: those of one shard in order, a parent's before its children's."""
        for shard_range, page in self._read(self._chains, True):
            skip = shard_range.skip(page)
            yield from user_records(page, shard_range.stream, shard_range.shard_id, deaggregate, skip)

    def record_batches(
        self, columns: Sequence[str] = _COLUMN_NAMES, *, deaggregate: bool = True
    ) -> Iterator[pyarrow.RecordBatch]:
        """
        Yield one record batch for each page with records, in the order of `records`. Needs pyarrow.

        Raises:
            OptionError: A column is unknown or comes twice, or there is none.
        """
        from kinesis_core.reading.arrow import BatchBuilder

        builder = BatchBuilder(columns, deaggregate)
        for shard_range, page in self._read(self._chains, builder.needs_data):
            skip = shard_range.skip(page)
            yield builder.build(page, self._name, shard_range.shard_id, shard_range.stream, skip)


@define
class Stream:
    """One stream, for reading. Safe to share between threads. As a context manager, it is closed at the end."""

    name: str
    _label: str
    _api: StreamApi = field(repr=False)
    _plan_settings: PlanSettings
    _read_settings: ReadSettings
    _clock: Clock = field(factory=SystemClock)
    _consumer: StreamConsumer | None = None

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
    ) -> Stream:
        """
        Return the stream, once it has been found to be there.

        *region* is taken from the ARN, the endpoint or botocore's chain when absent; *credentials* from botocore's
        chain.

        With a *consumer*, batches are read by enhanced fan-out. One that goes by its name is registered if it is not there,
        and removed by `close` unless *keep_consumer* says otherwise; one by its ARN must be there, and stays.

        Raises:
            CredentialsError: There are no credentials, or no region.
            OptionError: The consumer is another stream's, or what *fan_out* wants is not installed.
            StreamNotFoundError: There is no such stream, or no such consumer.
            ServiceError: Kinesis cannot be reached, or access is denied.
        """
        connection = Connection.to_stream(
            name_or_arn, region=region, endpoint_url=endpoint_url, credentials=credentials
        )
        (ref,) = connection.streams
        api = stream_client(connection, ref)
        found = api.describe()
        made = cls(ref.name, name_or_arn, api, plan or PlanSettings(), read or ReadSettings())
        if consumer is not None:
            from kinesis_core.reading.fan_out import StreamConsumer

            made._consumer = StreamConsumer.open(
                connection, found.arn, consumer, keep_consumer, fan_out or FanOutSettings(), made._clock
            )
        return made

    def close(self) -> None:
        """Remove the consumer if it goes by its name and is not to be kept. Batches are read by polling from then on."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def shards(self) -> list[ListedShard]:
        """Return all shards that Kinesis still knows, open and closed, by shard id."""
        listing = by_id(self._api.list_shards())
        children = index_children(listing)
        return [_listed(shard, children.get(shard.shard_id, ())) for shard in listing.values()]

    def read(self, start: Start = "TRIM_HORIZON", end: str | EndingPosition = "LATEST") -> Batch:
        """
        Return everything from *start* to *end* as one batch. LATEST as the end is the tip of each shard now.

        Positions are those of the option `startingPosition`, as text or as types, or the `offset` of another batch.

        Raises:
            OptionError: A position is malformed, in the future, or names a shard that does not exist.
            OffsetError: The offset is damaged, or of another stream.
        """
        ending = _parsed(end, ending_position(), "end")
        planner = self._planner()
        try:
            started = self._begin(planner, start)
            return self._batch(planner, started, planner.end_offset(started, ending))
        finally:
            planner.close()

    def follow(self, start: Start = "LATEST") -> Iterator[Batch]:
        """
        Yield batch after batch from *start*, and wait when there is nothing new. It never ends by itself.

        A child shard's records come in a later batch than its parents'. After hours of silence a batch may be empty, and its
        offset is as good to save as any. To go on after a restart, save each batch's
        `offset` when it is done, and give the last one as *start*.
        """
        planner = self._planner()
        started = self._begin(planner, start)
        try:
            while True:
                ended = planner.next_offset(started)
                if ended is not started:
                    yield self._batch(planner, started, ended)
                started = ended
        finally:
            planner.close()

    def _planner(self) -> Planner:
        return Planner({self._label: self._api}, self._plan_settings, clock=self._clock)

    def _begin(self, planner: Planner, start: Start) -> Offset:
        if isinstance(start, Mapping):
            return Offset.from_json(start)
        return planner.initial_offset(_parsed(start, starting_position(), "start"))

    def _batch(self, planner: Planner, start: Offset, end: Offset) -> Batch:
        groups = planner.range_groups(start, end)
        return Batch(end.to_json(), self.name, groups, self._pages)

    def _pages(self, groups: Sequence[RangeGroup], with_data: bool) -> Pages:
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        polling = PollingRangeReader(lambda _: self._api, self._read_settings, rng, with_data)
        if self._consumer is None:
            return read_concurrently(groups, polling, self._read_settings.threads, self._clock)
        return self._consumer.read(groups, polling, self._clock)


Start = str | StartingPosition | Mapping[str, Any]
"""A position as text or as a type, or a saved offset."""


@frozen
class ListedShard(Shard):
    """A shard, and those it was split or merged into."""

    children: tuple[str, ...] = ()


def _listed(shard: Shard, children: Sequence[Shard]) -> ListedShard:
    return ListedShard(**asdict(shard, recurse=False), children=tuple(child.shard_id for child in children))


def _parsed(position: Any, parser: Parser[Any], what: str) -> Any:
    if not isinstance(position, str):
        return position
    try:
        return parser.parse(position)
    except BadValueError as error:
        raise OptionError(
            f"'{what}' accepts {parser.domain}; got '{position}'. {error.hint}".rstrip()
        ) from error
