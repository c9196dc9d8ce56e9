"""Opens a worker of a group: the arguments of `ConsumerGroup.open` become streams, tables and threads."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from attrs import evolve, field, frozen

from kinesis_consumer.arguments import refused, verify_connection
from kinesis_consumer.assignment import join
from kinesis_consumer.delivery import GroupStream, SubscribedPages
from kinesis_consumer.lease_stores import LeaseStore
from kinesis_consumer.patience import patiently
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.shards import InitialPosition, LeaseKeeper, names_streams, verify_stream
from kinesis_consumer.worker import Callbacks, Coordinator, LeaseHolder, Worker, WorkerThreads
from kinesis_core import FanOutSettings, Latest, OptionError, PlanSettings, WireFormat
from kinesis_core.aws import BotoStreamApi, Connection, RetryPolicy, StreamApi, StreamRef, stream_client
from kinesis_core.clock import SteadyClock, SystemClock
from kinesis_core.leases import identify_stream, read_leases
from kinesis_core.model import CLOCK_MARGIN_MS, AtTimestamp, Cut, Page, Shard, StreamSummary, TrimHorizon
from kinesis_core.options import STARTS_OF_ALL_SHARDS, BadValueError, starting_position
from kinesis_core.planning import ShardPages
from kinesis_credentials import CredentialSpec


@frozen
class Opening:
    """What a worker is made of."""

    connection: Connection
    application: str
    worker: str
    settings: GroupSettings
    callbacks: Callbacks
    consumer: str | None = None
    """The consumer of enhanced fan-out that all workers of the group share; None: they poll."""
    fan_out: FanOutSettings = field(factory=FanOutSettings)

    def threads(self, leases: LeaseStore, initial: InitialPosition) -> WorkerThreads:
        """
        Return the threads of the worker, which are not started yet. Verifies that streams and tables exist.

        Raises:
            StreamNotFoundError: A stream does not exist.
            GroupStateError: The table has leases of another kind of group, or workers of an older KCL work in it.
            ServiceError: AWS cannot be reached, or access is denied.
        """
        rng, clock = random.Random(), SteadyClock()  # noqa: S311 # jitter, not a secret
        found: list[GroupStream] = []
        # The group repeats failed calls by itself: one that waits would keep a worker from closing.
        impatient = evolve(self.connection, retry=RetryPolicy(max_retries=0, ready_timeout_s=0.0))
        names = name_streams(self.connection.streams, self._find_arn)
        for ref in self.connection.streams:
            api = _Impatient(_client(impatient, ref))
            found.append(self._source(ref, names[ref], api, rng, initial))
        table = leases.open(self.application, self.connection)
        present, _ = read_leases(patiently("Scan", table.scan, clock, rng))
        named = names_streams(present, len(found))
        for each in found:
            list_shards = partial(patiently, "ListShards", each.api.list_shards, clock, rng)
            verify_stream(present, each.stream_id, list_shards)
        sources: dict[str | None, GroupStream] = {(each.stream_id if named else None): each for each in found}
        apis = {stream_id: source.api for stream_id, source in sources.items()}
        holder = LeaseHolder(self.worker, table, sources, self.settings, clock, self.callbacks)
        identifier = None if named else found[0].stream_id
        join(table, holder.namesakes, SystemClock(), rng)
        keeper = LeaseKeeper(table, apis, initial, clock, identifier)
        coordinator = Coordinator(holder, keeper, clock, SystemClock(), rng)
        return WorkerThreads(Worker(holder), coordinator)

    def _source(
        self, ref: StreamRef, name: str, api: StreamApi, rng: random.Random, initial: InitialPosition
    ) -> GroupStream:
        plan = PlanSettings(fail_on_data_loss=self.settings.fail_on_data_loss)
        pages = ShardPages.of(ref.label, api, plan, SystemClock(), rng, self.settings.max_fetch_rate_bytes)
        summary = patiently("DescribeStreamSummary", pages.begin, SteadyClock(), rng)
        verify_past(initial, api.now_ms())
        initial_ms = initial.epoch_ms if isinstance(initial, AtTimestamp) else None
        stream_id = identify_stream(summary.arn, summary.created_ms)
        return GroupStream(name, pages, api, initial_ms, stream_id, self._subscribed(ref, summary, pages))

    def _find_arn(self, ref: StreamRef) -> str:
        return _client(self.connection, ref).describe().arn

    def _subscribed(
        self, ref: StreamRef, summary: StreamSummary, pages: ShardPages
    ) -> SubscribedPages | None:
        if self.consumer is None:
            return None
        from kinesis_core.reading.fan_out import StreamConsumer

        connection = evolve(self.connection, streams=(ref,))
        # Other workers use the consumer, so none of them removes it.
        found = StreamConsumer.open(connection, summary.arn, self.consumer, True, self.fan_out, SteadyClock())
        return SubscribedPages(pages, found.subscriptions, SteadyClock())


@frozen
class _Impatient:
    """A `StreamApi` that makes one attempt to list shards, even if Kinesis throttles it."""

    _api: BotoStreamApi

    def now_ms(self) -> int:
        return self._api.now_ms()

    def describe(self) -> StreamSummary:
        return self._api.describe(with_retries=False)

    def list_shards(self) -> list[Shard]:
        return self._api.list_shards(with_retries=False)

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        return self._api.get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        return self._api.get_records(iterator, limit, with_data, shard_id)


def _client(connection: Connection, ref: StreamRef) -> BotoStreamApi:
    try:
        return stream_client(connection, ref)
    except ValueError as error:  # botocore's
        region = connection.region_of(ref)
        raise OptionError(
            f"'region' is {region!r}. {error} Use the name of a region, such as eu-west-1."
        ) from error


def connect(
    names: Sequence[str],
    region: str | None,
    endpoint_url: str | None,
    credentials: CredentialSpec | None,
    wire_format: WireFormat = WireFormat.JSON,
) -> Connection:
    """
    Return how to reach the streams *names*. Makes no call.

    Raises:
        OptionError: An argument is of another type or malformed.
        CredentialsError: No region is found.
    """
    verify_connection(region, endpoint_url, credentials, wire_format)
    first = Connection.to_stream(
        names[0], region=region, endpoint_url=endpoint_url, credentials=credentials, wire_format=wire_format
    )
    return evolve(first, streams=tuple(StreamRef.parse(name) for name in names))


def parse_streams(streams: str | Sequence[str]) -> list[str]:
    """
    Return the streams that a group reads.

    Raises:
        OptionError: None is named, or one twice.
    """
    names = [streams] if isinstance(streams, str) else list(streams) if isinstance(streams, Sequence) else []
    is_valid = (
        names and all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
    )
    if not is_valid:
        raise refused("streams", "one stream or several different ones, each by its name or ARN", streams)
    return names


def verify_consumer(consumer: str | None, streams: Sequence[str]) -> None:
    """
    Verify that *consumer* can be one of all *streams*.

    Raises:
        OptionError: It is not a name, or it is the ARN of one stream's consumer, and there are several streams.
    """
    if consumer is not None and not (isinstance(consumer, str) and consumer):
        raise refused("consumer", "the name or ARN of a consumer", consumer)
    if consumer is not None and consumer.startswith("arn:") and len(streams) > 1:
        raise OptionError(
            f"'consumer' is '{consumer}'. Use a name, which is used for each of the {len(streams)} streams. An ARN names "
            "the consumer of only one stream."
        )


def parse_start(start: str | InitialPosition) -> InitialPosition:
    """
    Return where a new group begins.

    Raises:
        OptionError: *start* is malformed, or is not a position for all shards.
    """
    position: object = start
    hint = ""
    if isinstance(start, str):
        try:
            position = starting_position().parse(start)
        except BadValueError as error:
            hint = error.hint
    if isinstance(position, (TrimHorizon, Latest, AtTimestamp)):
        return position
    if isinstance(start, str) and start.lstrip().startswith("{"):
        hint = "Positions by shard belong in the leases."
    raise refused("start", STARTS_OF_ALL_SHARDS, start, hint)


def verify_past(start: InitialPosition, now_ms: int) -> None:
    """
    Verify that a group does not begin later than *now_ms*: until then it would read earlier records.

    Raises:
        OptionError: It does.
    """
    if isinstance(start, AtTimestamp) and start.epoch_ms > now_ms + CLOCK_MARGIN_MS:
        raise OptionError(f"'start' is {start}. Use a time that is past.")


def name_streams(streams: Sequence[StreamRef], find_arn: Callable[[StreamRef], str]) -> dict[StreamRef, str]:
    """
    Return what a group calls each stream: its name, or its ARN where another stream of the group has the same name.

    The ids of batches hold it, so it is the same however the user gave the stream.

    *find_arn* returns the ARN of a stream that was given by its name. It is called only for such a name that is not the only one.

    Raises:
        OptionError: A stream is given twice: by its name and by its ARN.
    """
    counts = Counter(ref.name for ref in streams)
    names = {ref: ref.name if counts[ref.name] == 1 else ref.arn or find_arn(ref) for ref in streams}
    if len(set(names.values())) < len(streams):
        twice = sorted(ref.label for ref in streams if Counter(names.values())[names[ref]] > 1)
        raise OptionError(f"'streams' accepts different streams; {' and '.join(twice)} are the same one.")
    return names
