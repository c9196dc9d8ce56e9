"""
Kinesis for plain Python: open a stream, see its shards, read it from one place to another, or follow it.

    stream = Stream.open("orders", region="eu-west-1")
    for record in stream.read("TRIM_HORIZON").records():
        print(record.partition_key, record.data)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from kinesis_core.chain_reader import read_chains
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.columns import DEFAULT_COLUMNS, UserRecord, user_records
from kinesis_core.connections import open_stream
from kinesis_core.errors import OptionError
from kinesis_core.offsets import Offset
from kinesis_core.options import ConnectionOptions, StreamRef
from kinesis_core.options.option import BadValueError, Parser
from kinesis_core.options.positions import (
    EndingPosition,
    StartingPosition,
    ending_position,
    starting_position,
)
from kinesis_core.pages import Page
from kinesis_core.planner import Planner
from kinesis_core.ranges import Chain, ShardRange
from kinesis_core.reader import PolledRanges, ReadSettings
from kinesis_core.shards import Listing, Shard, by_id, children_of
from kinesis_core.stream_api import StreamApi
from kinesis_core.stream_planner import PlanSettings
from kinesis_credentials import CredentialSpec, DefaultChain, resolve_region

if TYPE_CHECKING:
    import pyarrow

_COLUMN_NAMES = tuple(column.name for column in DEFAULT_COLUMNS)


@frozen
class Batch:
    """
    An exact piece of a stream, fixed before anything of it is read: reading it twice gives the same records.

    Attributes:
        offset: Where it ends, ready for JSON. Save it when the batch is done, and give it as `start` to go on there.
    """

    offset: dict[str, Any]
    _name: str
    _chains: Sequence[Chain]
    _api: StreamApi = field(repr=False)
    _settings: ReadSettings
    _clock: Clock

    def records(self, *, deaggregate: bool = True) -> Iterator[UserRecord]:
        """Yield the (user) records: those of one shard in order, a parent's before its children's."""
        for shard_range, page in self._pages(with_data=True):
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
        from kinesis_core.arrow import BatchBuilder

        builder = BatchBuilder(columns, deaggregate)
        for shard_range, page in self._pages(with_data=builder.needs_data):
            skip = shard_range.skip(page)
            yield builder.build(page, self._name, shard_range.shard_id, shard_range.stream, skip)

    def _pages(self, *, with_data: bool) -> Iterator[tuple[ShardRange, Page]]:
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        polled = PolledRanges(lambda _: self._api, self._settings, rng, with_data)
        return read_chains(self._chains, polled, self._settings.threads, self._clock)


@define
class Stream:
    """One stream, for reading. Safe to share between threads."""

    name: str
    _label: str
    _api: StreamApi = field(repr=False)
    _plan_settings: PlanSettings
    _read_settings: ReadSettings
    _clock: Clock = field(factory=SystemClock)

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
    ) -> Stream:
        """
        Return the stream, once it has been found to be there.

        *region* is taken from the ARN, the endpoint or botocore's chain when absent; *credentials* from botocore's
        chain.

        Raises:
            CredentialsError: There are no credentials, or no region.
            StreamNotFoundError: There is no such stream.
            ServiceError: Kinesis cannot be reached, or access is denied.
        """
        spec = credentials or DefaultChain()
        arn = name_or_arn if name_or_arn.startswith("arn:") else None
        name = name_or_arn.rpartition("/")[2] if arn else name_or_arn
        signed_for = resolve_region(
            spec, region=region, arns=(arn,) if arn else (), endpoint_url=endpoint_url
        )
        ref = StreamRef(name, arn)
        api = open_stream(ConnectionOptions((ref,), signed_for, endpoint_url, spec), ref)
        api.describe()
        return cls(name, name_or_arn, api, plan or PlanSettings(), read or ReadSettings())

    def shards(self) -> list[ListedShard]:
        """Return all shards that Kinesis still knows, open and closed, by shard id."""
        listing = by_id(self._api.list_shards())
        return [_listed(shard, listing) for shard in listing.values()]

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
            begun = self._begin(planner, start)
            return self._batch(planner, begun, planner.end_offset(begun, ending))
        finally:
            planner.close()

    def follow(self, start: Start = "LATEST") -> Iterator[Batch]:
        """
        Yield batch after batch from *start*, and wait when there is nothing new. It never ends by itself.

        A child shard's records come in a later batch than its parents'. To go on after a restart, save each batch's
        `offset` when it is done, and give the last one as *start*.
        """
        planner = self._planner()
        begun = self._begin(planner, start)
        try:
            while True:
                ended = planner.next_offset(begun)
                if ended is not begun:
                    yield self._batch(planner, begun, ended)
                begun = ended
        finally:
            planner.close()

    def _planner(self) -> Planner:
        return Planner({self._label: self._api}, self._plan_settings, clock=self._clock)

    def _begin(self, planner: Planner, start: Start) -> Offset:
        if isinstance(start, Mapping):
            return Offset.from_json(start)
        return planner.initial_offset(_parsed(start, starting_position(), "start"))

    def _batch(self, planner: Planner, start: Offset, end: Offset) -> Batch:
        chains = planner.chains(start, end)
        return Batch(end.to_json(), self.name, chains, self._api, self._read_settings, self._clock)


Start = str | StartingPosition | Mapping[str, Any]
"""A position as text or as a type, or a saved offset."""


@frozen
class ListedShard(Shard):
    """A shard, and those it was split or merged into."""

    children: tuple[str, ...] = ()


def _listed(shard: Shard, listing: Listing) -> ListedShard:
    return ListedShard(
        shard.shard_id,
        shard.parent_id,
        shard.adjacent_parent_id,
        shard.hash_start,
        shard.hash_end,
        shard.starting_number,
        shard.ending_number,
        children_of(shard.shard_id, listing),
    )


def _parsed(position: Any, parser: Parser[Any], what: str) -> Any:
    if not isinstance(position, str):
        return position
    try:
        return parser.parse(position)
    except BadValueError as error:
        raise OptionError(
            f"'{what}' accepts {parser.domain}; got '{position}'. {error.hint}".rstrip()
        ) from error
