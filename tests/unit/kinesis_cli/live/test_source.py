"""One stream for the screens of `kinesis top`, called over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kinesis_cli.live import KinesisSource, LiveReader, StreamView
from kinesis_core import (
    AccessDeniedError,
    KinesisError,
    StreamNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.aws import Connection
from kinesis_core.clock import SteadyClock
from kinesis_emulator import Fault
from support.lineages import name, numbers
from unit.kinesis_cli.live.conftest import WatchedKinesis

LOW, HIGH = 0, 2**127
"""Hash keys in the first and in the second half."""
FAN_OUT = "enhanced fan-out"


def shards(view: StreamView) -> list[int]:
    return numbers([line.shard_id for line in view.shards])


def test_open_shards_and_their_records(kinesis: WatchedKinesis) -> None:
    """A view has the facts of the stream and its open shards in the order of hash keys, and counts what comes into each."""
    view = kinesis.see()
    assert (view.summary.name, view.summary.open_shards, view.readers) == ("orders", 2, ())
    assert shards(view) == [0, 1]
    assert view.shards[1].hash_end == 2**128 - 1
    assert kinesis.see_records("orders", LOW, name(0))
    assert kinesis.see_records("orders", HIGH, name(1))


def test_each_shard_is_read_once_a_second(kinesis: WatchedKinesis) -> None:
    """However often a view is asked for, each shard is read once a second, and lists are made each half a minute."""
    for _ in range(300):
        kinesis.see(after_s=0.1)
    assert 29 <= kinesis.reads("orders", name(0)) <= 31
    assert kinesis.emulator.calls.count("ListShards", "orders") == 1
    kinesis.see()
    assert kinesis.emulator.calls.count("ListShards", "orders") == 2


def test_several_streams(kinesis: WatchedKinesis) -> None:
    """Each stream is watched by itself. One that is not on the screen is not called, and goes on where it was."""
    kinesis.emulator.create_stream("teas", 1)
    kinesis.see("orders")
    reads = kinesis.reads("orders")
    assert kinesis.see_records("teas", LOW, name(0))
    assert shards(kinesis.see("teas")) == [0]
    assert kinesis.reads("orders") == reads
    iterators = kinesis.emulator.calls.count("GetShardIterator", "orders")
    kinesis.see("orders")
    assert kinesis.reads("orders") == reads + 2
    assert kinesis.emulator.calls.count("GetShardIterator", "orders") == iterators


def test_a_stream_of_many_shards(kinesis: WatchedKinesis) -> None:
    """Of a stream with more than 100 shards the first 100 are read, and the others are shown."""
    kinesis.emulator.create_stream("wide", 102)
    view = kinesis.see("wide")
    assert (len(view.shards), view.unread_shards) == (102, 2)
    assert kinesis.reads("wide") == 100
    assert [line.sample for line in view.shards[100:]] == [None, None]


def test_a_split(kinesis: WatchedKinesis) -> None:
    """Children take the place of their parent as soon as its end was read. The other shard is read on by the same iterator."""
    kinesis.see()
    kinesis.emulator.split("orders", name(0))
    kinesis.see()
    assert shards(kinesis.see()) == [2, 3, 1]
    assert kinesis.see_records("orders", LOW, name(2))
    assert kinesis.emulator.calls.count("GetShardIterator", "orders", name(1)) == 1


def test_a_listing_that_lags_behind(kinesis: WatchedKinesis) -> None:
    """Children that ListShards leaves out are looked for by each call, and not half a minute later."""
    kinesis.see()
    children = tuple(kinesis.emulator.split("orders", name(0)))
    kinesis.emulator.settings.fault = lambda request: (
        Fault(hide_shards=children) if request.action == "ListShards" else None
    )
    kinesis.see()
    assert shards(kinesis.see()) == [1]
    kinesis.emulator.settings.fault = None
    assert shards(kinesis.see()) == [2, 3, 1]


def test_a_shard_that_is_not_known_everywhere_yet(kinesis: WatchedKinesis) -> None:
    """A shard that is listed, and that Kinesis does not find at first, is read once it is found."""
    with kinesis.failing("ResourceNotFoundException", lambda request: request.shard_id == name(0)):
        for _ in range(3):
            assert shards(kinesis.see()) == [0, 1]
    assert kinesis.see_records("orders", LOW, name(0))


def test_a_stream_that_is_deleted(kinesis: WatchedKinesis) -> None:
    """A deleted stream is an error of each call. When it is created again, its shards are read, also those of the same ids."""
    kinesis.see_records("orders", LOW, name(0))
    kinesis.emulator.delete_stream("orders")
    kinesis.see()  # the end of its shards
    for _ in range(2):
        with pytest.raises(StreamNotFoundError, match="orders"):
            kinesis.see()
    kinesis.emulator.create_stream("orders", 1)
    assert shards(kinesis.see()) == [0]
    assert kinesis.see_records("orders", HIGH, name(0))
    lists = kinesis.emulator.calls.count("ListShards", "orders")
    kinesis.see()
    assert kinesis.emulator.calls.count("ListShards", "orders") == lists


@pytest.mark.parametrize("code", ["ExpiredIteratorException", "InvalidArgumentException"])
def test_a_stream_that_is_created_again_unseen(kinesis: WatchedKinesis, code: str) -> None:
    """After half a minute no iterator of a deleted stream is used, whatever Kinesis says of one."""
    kinesis.see()
    kinesis.emulator.delete_stream("orders")
    kinesis.emulator.create_stream("orders", 2)
    with kinesis.failing(code, lambda request: request.action == "GetRecords"):
        try:
            kinesis.see()
        except KinesisError as error:
            assert code in str(error)  # noqa: PT017 # an expired iterator is no error
    assert shards(kinesis.see_later()) == [0, 1]
    assert kinesis.see_records("orders", HIGH, name(1))


def test_a_throttled_shard(kinesis: WatchedKinesis) -> None:
    """A shard whose readers use up its quota has no figures, is left alone for longer, and hides no other shard."""
    with kinesis.failing(
        "ProvisionedThroughputExceededException",
        lambda request: request.action == "GetRecords" and request.shard_id == name(0),
    ):
        for _ in range(20):
            view = kinesis.see()
        assert view.shards[0].sample is None
        assert kinesis.see_records("orders", HIGH, name(1))
        assert kinesis.reads("orders", name(0)) < 12
    assert kinesis.see_records("orders", LOW, name(0))


@pytest.mark.parametrize(
    ("action", "code", "expected"),
    [
        ("DescribeStreamSummary", "InternalFailure", UnavailableError),
        ("ListShards", "InternalFailure", UnavailableError),
        ("ListShards", "AccessDeniedException", AccessDeniedError),
        ("ListStreamConsumers", "InternalFailure", UnavailableError),
        ("GetShardIterator", "AccessDeniedException", AccessDeniedError),
        ("GetRecords", "InternalFailure", UnavailableError),
        ("GetRecords", "AccessDeniedException", AccessDeniedError),
    ],
)
def test_a_call_that_fails(
    kinesis: WatchedKinesis, action: str, code: str, expected: type[KinesisError]
) -> None:
    """A call that fails is an error that names it, for the line above the shards. The next view is complete."""
    kinesis.emulator.register_consumer("orders", "billing")
    if action != "GetShardIterator":
        kinesis.see()
    with kinesis.failing(code, lambda request: request.action == action), pytest.raises(expected, match=code):
        kinesis.see_later()
    view = kinesis.see(after_s=5.0)
    assert shards(view) == [0, 1]
    assert [reader.name for reader in view.readers] == ["billing"]
    assert kinesis.see_records("orders", LOW, name(0))


def test_consumers(kinesis: WatchedKinesis) -> None:
    """Consumers of enhanced fan-out are found while it runs, sorted by name, and vanish when they are removed."""
    assert not kinesis.see().readers
    for consumer in ("fraud", "billing"):
        kinesis.emulator.register_consumer("orders", consumer)
    assert kinesis.see_later().readers == (
        LiveReader("billing", FAN_OUT, status="ACTIVE"),
        LiveReader("fraud", FAN_OUT, status="ACTIVE"),
    )
    kinesis.emulator.deregister_consumer("orders", "fraud")
    kinesis.emulator.deregister_consumer("orders", "billing")
    assert not kinesis.see_later().readers


def test_consumers_that_may_not_be_listed(kinesis: WatchedKinesis) -> None:
    """Without the permission to list consumers everything else is shown, and their line names the permission."""
    kinesis.emulator.register_consumer("orders", "billing")
    kinesis.emulator.settings.deny = {"ListStreamConsumers"}
    view = kinesis.see()
    assert shards(view) == [0, 1]
    assert view.readers == (
        LiveReader("1 consumer", FAN_OUT, status="kinesis:ListStreamConsumers is denied"),
    )


def test_readers(kinesis: WatchedKinesis) -> None:
    """The lag of readers is measured every five seconds, and they come before the consumers. An error is raised, and passes."""
    asked: list[str] = []

    def readers_of(stream: str) -> Sequence[LiveReader]:
        asked.append(stream)
        if len(asked) == 2:
            raise ThrottledError("slow down")
        return [LiveReader("job", "checkpoint", len(asked))]

    kinesis.readers_of = readers_of
    kinesis.emulator.register_consumer("orders", "billing")
    for _ in range(5):
        assert [reader.name for reader in kinesis.see().readers] == ["job", "billing"]
    assert asked == ["orders"]
    with pytest.raises(ThrottledError):
        kinesis.see()
    assert kinesis.see().readers[0] == LiveReader("job", "checkpoint", 3)


def _no_call(*_: object) -> Connection:
    raise AssertionError


def test_the_clock_cannot_be_set() -> None:
    """When somebody sets the clock back, everything is still listed again."""
    source = KinesisSource(_no_call, _no_call)
    assert isinstance(source.clock, SteadyClock)
