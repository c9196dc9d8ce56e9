"""The core's subscriptions over HTTP to an emulator in this process. Both share a clock that waiting advances."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import define, field, frozen
from botocore.credentials import Credentials

from kinesis_core.aws import Connection, RetryPolicy, StreamRef, make_client
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.aws.http2 import use_http2
from kinesis_core.aws.subscriptions import BotoConsumerApi, BotoSubscribeApi, take_connection
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.model import After, At, Record, ShardRange, TrimHorizon
from kinesis_core.model.cuts import EndCut
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out.subscription_reader import SubscriptionReader
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, Limits, ManualClock, Request, Settings
from support.waiting import PATIENCE_S, wait_until

STREAM, SHARD, REGION = "orders", "shardId-000000000000", "us-east-1"
KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
RECORDS_PER_EVENT = 5


@frozen
class EmulatorClock:
    """The emulator's clock for the core: waiting advances it."""

    clock: ManualClock

    def now_s(self) -> float:
        return self.clock.now_s

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.clock.advance(seconds)


def connect(url: str, read_timeout_s: float = PATIENCE_S, certificate: Path | None = None) -> Any:
    """
    Return a client as `stream_client` makes it. It gives up on a silent subscription after *read_timeout_s*.

    With a *certificate* to trust it subscribes by HTTP/2.
    """
    connection = Connection((StreamRef(STREAM),), REGION, url, KEYS)
    client = make_client(connection, "kinesis", url, read_timeout_s)
    install_raw_bodies(client)
    take_connection(client)
    if certificate is not None:
        use_http2(client, str(certificate))
    return client


@define
class Apis:
    """The core's APIs for one stream, through one client."""

    client: Any
    stream: str = STREAM
    arn: str | None = None
    clock: Clock = field(factory=SystemClock)

    def _open(self, kind: Callable[..., Any], *more: object) -> Any:
        policy = RetryPolicy(max_retries=0)  # readers retry by themselves
        return kind(self.client, self.stream, self.arn, policy, self.clock, random.Random(0), *more)

    def reading(self) -> BotoStreamApi:
        keys = Credentials(KEYS.access_key_id, KEYS.secret_key)
        made: BotoStreamApi = self._open(BotoStreamApi, FastPath(self.client, keys))
        return made

    def consumers(self) -> BotoConsumerApi:
        made: BotoConsumerApi = self._open(BotoConsumerApi)
        return made

    def subscribing(self, consumer: str) -> BotoSubscribeApi:
        made: BotoSubscribeApi = self._open(BotoSubscribeApi, consumer)
        return made

    def records(self, shard_id: str = SHARD) -> list[Record]:
        """Return the records of a shard, read by polling."""
        api = self.reading()
        iterator: str | None = api.get_iterator(shard_id, TrimHorizon())
        records: list[Record] = []
        while iterator is not None:
            page = api.get_records(iterator, 10_000)
            records += page.records
            iterator = page.next_iterator if page.records or page.millis_behind else None
        return records


@define
class Http2Connections:
    """The HTTP/2 connections of an emulator's subscriptions, also closed ones. `note` is a fault of the emulator's settings."""

    emulator: Emulator
    _calls: dict[int, int] = field(factory=dict, init=False)

    def note(self, request: Request) -> None:
        if request.action == "SubscribeToShard":
            self._calls |= {
                one.number: one.calls for one in self.emulator.connections() if one.protocol == "HTTP/2"
            }

    @property
    def calls(self) -> list[int]:
        """The requests on each connection, in the order in which the connections came."""
        return [calls for _, calls in sorted(self._calls.items())]

    @property
    def open(self) -> list[int]:
        """The requests on each connection that is open."""
        return [one.calls for one in self.emulator.connections() if one.protocol == "HTTP/2"]


@define
class Desk:
    """
    An emulator with one stream and one consumer, and the core's APIs for them.

    Attributes:
        apis: The APIs over HTTP/1.1.
        subscribers: The APIs that subscriptions use.
        http2: The HTTP/2 connections of subscriptions.
    """

    emulator: Emulator
    ticks: ManualClock
    consumer: str
    apis: Apis
    subscribers: Apis
    http2: Http2Connections
    _faults: list[Fault] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.emulator.settings.fault = self._before

    def _before(self, request: Request) -> Fault | None:
        self.http2.note(request)
        return self._faults.pop(0) if self._faults and request.action == "SubscribeToShard" else None

    @property
    def clock(self) -> EmulatorClock:
        return EmulatorClock(self.ticks)

    def put(self, count: int, size_bytes: int = 10) -> None:
        for i in range(count):
            self.emulator.put(STREAM, b"%d" % i + bytes(size_bytes))

    def suffer(self, *faults: Fault) -> None:
        """Give the next subscriptions these *faults*, one each."""
        self._faults = list(faults)

    def range(self, first: int = 0, end: EndCut | None = None) -> ShardRange:
        """Return the range from a record on, by default up to the last record now."""
        records = self.apis.records()
        return ShardRange(STREAM, SHARD, At(records[first].number), end or After(records[-1].number))

    def subscribing(self) -> BotoSubscribeApi:
        return self.subscribers.subscribing(self.consumer)

    def reader(self, shard_range: ShardRange, settings: FanOutSettings) -> SubscriptionReader:
        rng = random.Random(0)
        check = PollingRangeReader(lambda _: self.apis.reading(), ReadSettings(), rng).check(
            shard_range, self.clock
        )
        return SubscriptionReader(self.subscribing(), shard_range, settings, True, self.clock, rng, check)

    def read(self, shard_range: ShardRange, settings: FanOutSettings | None = None) -> list[Record]:
        """Return the records of a range, read by subscription only."""
        settings = settings or FanOutSettings(fallback_to_polling=False)
        return [record for page in self.reader(shard_range, settings).pages() for record in page.records]

    def subscriptions(self) -> int:
        """Return the number of SubscribeToShard calls."""
        return self.emulator.calls.count("SubscribeToShard")

    def wait_until_left(self) -> None:
        """Wait until the emulator has no open subscription, and no HTTP/2 connection: each is for one subscription."""
        wait_until(lambda: not self.emulator.subscriptions(STREAM) and not self.http2.open)


@contextmanager
def desk(
    read_timeout_s: float = PATIENCE_S,
    files: tuple[Path, Path] | None = None,
    broken: Literal["stream", "goaway", "connection"] = "stream",
    http2: bool = True,
) -> Iterator[Desk]:
    """
    Yield a new desk. With a certificate and key in *files* it subscribes by TLS, and by HTTP/2 unless the emulator has none.

    Calls of HTTP/2 that are broken off end as *broken* says.
    """
    ticks = ManualClock()
    limits = replace(Limits.unlimited(), event_max_records=RECORDS_PER_EVENT)
    with ExitStack() as stack:
        settings = Settings(limits=limits, broken_http2=broken)
        emulator = stack.enter_context(
            Emulator(settings=settings, clock=ticks, tls=files or False, http2=http2)
        )
        arn = emulator.create_stream(STREAM)
        if files is not None:
            stack.enter_context(pytest.MonkeyPatch.context()).setenv("AWS_CA_BUNDLE", str(files[0]))
        clients = [connect(emulator.endpoint_url)]
        clients.append(connect(emulator.endpoint_url, read_timeout_s, files and files[0]))
        polling, subscribing = (Apis(client, STREAM, arn, EmulatorClock(ticks)) for client in clients)
        consumer = emulator.register_consumer(STREAM, "me")
        yield Desk(emulator, ticks, consumer, polling, subscribing, Http2Connections(emulator))
        for client in clients:
            client.close()
