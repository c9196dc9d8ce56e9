"""What Prometheus gets."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from kinesis_cli.ending import UsageError
from kinesis_cli.lag.metrics import Address, LagCollector
from kinesis_cli.lag.repeating import Failed
from kinesis_cli.lag.results import ReaderLag, ShardLag, State, StreamLag


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":9400", Address("127.0.0.1", 9400)),
        ("9400", Address("127.0.0.1", 9400)),
        ("0.0.0.0:9400", Address("0.0.0.0", 9400)),  # noqa: S104 # it is parsed, and not bound
        ("[::1]:9400", Address("::1", 9400)),
    ],
)
def test_addresses(text: str, expected: Address) -> None:
    """Without a host it is this machine only. Any other host is given in so many words."""
    assert Address.parse(text) == expected


@pytest.mark.parametrize("text", ["", ":", "localhost", ":0", ":65536", ":-1", ":x", "1.2.3.4:²"])
def test_wrong_addresses(text: str) -> None:
    """What is no address is refused, with examples."""
    with pytest.raises(UsageError, match=r"--serve is .*\. Use \[HOST\]:PORT"):
        Address.parse(text)


def exposed(collector: LagCollector) -> list[str]:
    registry = CollectorRegistry()
    registry.register(collector)
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_metrics() -> None:
    """Each shard whose lag is known has a line, each reader its sums, and a reader with a problem is down."""
    shards = (
        ShardLag("shardId-0", State.BEHIND, 1500),
        ShardLag("shardId-1", State.EXPIRED, 86_400_000),
        ShardLag("shardId-2", State.GONE),
    )
    readers = (
        ReaderLag(reader="cp", kind="spark", shards=shards, committed_ms=1_789_999_000_500),
        ReaderLag(reader="billing", kind="", problem="missing"),
    )
    lag = StreamLag(
        stream="orders", arn="arn", retention_ms=86_400_000, measured_ms=1_790_000_000_000, readers=readers
    )
    assert set(exposed(LagCollector("orders", ["cp", "billing"], lag))) == {
        'kinesis_reader_lag_seconds{reader="cp",shard="shardId-0",stream="orders"} 1.5',
        'kinesis_reader_lag_seconds{reader="cp",shard="shardId-1",stream="orders"} 86400.0',
        'kinesis_reader_max_lag_seconds{reader="cp",stream="orders"} 86400.0',
        'kinesis_reader_behind_shards{reader="cp",stream="orders"} 3.0',
        'kinesis_reader_expiring_shards{reader="cp",stream="orders"} 0.0',
        'kinesis_reader_lost_shards{reader="cp",stream="orders"} 2.0',
        'kinesis_reader_committed_timestamp_seconds{reader="cp",stream="orders"} 1.7899990005e+09',
        'kinesis_reader_up{reader="cp",stream="orders"} 1.0',
        'kinesis_reader_up{reader="billing",stream="orders"} 0.0',
        'kinesis_stream_retention_seconds{stream="orders"} 86400.0',
        'kinesis_reader_measured_timestamp_seconds{stream="orders"} 1.79e+09',
    }


def test_an_unreachable_stream() -> None:
    """While the stream cannot be reached, all readers are down, and no old lag is served."""
    found = exposed(LagCollector("orders", ["cp"], Failed("Kinesis cannot be reached.")))
    assert found == ['kinesis_reader_up{reader="cp",stream="orders"} 0.0']


def test_before_the_first_measurement() -> None:
    """Nothing is known yet, and nothing is served."""
    assert exposed(LagCollector("orders", ["cp"])) == []
