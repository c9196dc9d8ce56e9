"""
The core's subscriptions over HTTP, read from our emulator and from kinesis-local.

Unlike boto3 the core needs no `initial-response`, so it can read kinesis-local's events. moto has no
SubscribeToShard.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import pytest

from kinesis_core import After, At, TrimHorizon
from kinesis_core.clock import SystemClock
from kinesis_core.model import ShardRange
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out import find_consumer
from kinesis_core.reading.fan_out.subscription_reader import SubscriptionReader
from support.fan_out_core import SHARD, Apis, connect

pytestmark = pytest.mark.deviates("moto", "has no SubscribeToShard")
PAYLOADS = [b"%d" % i * 100 for i in range(40)]


@pytest.fixture
def apis(endpoint_url: str, stream: Any) -> Iterator[Apis]:
    client = connect(endpoint_url)
    yield Apis(client, stream.name, stream.arn)
    client.close()


@pytest.fixture
def consumer(apis: Apis) -> str:
    return find_consumer(apis.consumers(), "one", 60, SystemClock()).arn


def read(apis: Apis, consumer: str, shard_range: ShardRange) -> list[Any]:
    settings, rng, clock = (
        FanOutSettings(fallback_to_polling=False, retries=1),
        random.Random(0),
        SystemClock(),
    )
    check = PollingRangeReader(lambda _: apis.reading(), ReadSettings(), rng).check(shard_range, clock)
    reader = SubscriptionReader(apis.subscribing(consumer), shard_range, settings, True, clock, rng, check)
    return [record for page in reader.pages() for record in page.records]


def test_a_range_is_what_polling_brings(apis: Apis, consumer: str, stream: Any) -> None:
    """Every field of every record of a range is the same by subscription as by GetRecords."""
    for payload in PAYLOADS:
        stream.put(payload)
    polled = apis.records()
    first, last = polled[3].number, polled[-3].number
    assert read(apis, consumer, ShardRange(stream.name, SHARD, At(first), After(last))) == polled[3:-2]
    assert [record.data for record in polled] == PAYLOADS


def test_what_comes_later_comes(apis: Apis, consumer: str, stream: Any) -> None:
    """A subscription after the last record brings later records, after events without records."""
    number = int(stream.put(b"before")["SequenceNumber"])
    with closing(apis.subscribing(consumer).subscribe(SHARD, After(number))) as events:
        assert next(events).records == []
        stream.put(b"after")
        later = next(page for page in events if page.records)
    assert [record.data for record in later.records] == [b"after"]
    assert later.continues_after == later.records[-1].number


def test_data_is_left_out_on_request(apis: Apis, consumer: str, stream: Any) -> None:
    """Without data the other fields of an event's records are the same."""
    stream.put(b"x" * 1000)
    with closing(apis.subscribing(consumer).subscribe(SHARD, TrimHorizon(), False)) as events:
        page = next(page for page in islice(events, 3) if page.records)
    polled = apis.records()
    assert [record.sequence_number for record in page.records] == [polled[0].sequence_number]
    assert page.records[0].data == b""
