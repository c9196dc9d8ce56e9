"""Plain Python with enhanced fan-out against the emulator: the same batches, through a consumer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from kinesis_core import (
    AccessDeniedError,
    FanOutSettings,
    OptionError,
    Stream,
    StreamNotFoundError,
    UserRecord,
)
from kinesis_core.errors import ResourceInUseError
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Limits, Settings
from support.streams import tags_of_consumer
from support.waiting import wait_until

STREAM = "orders"


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    settings = Settings(limits=Limits.unlimited(), resubscribe_after_s=0)
    with Emulator(settings=settings) as made:
        made.create_stream(STREAM, shards=2)
        for i in range(100):
            made.put(STREAM, b"%d" % i, f"key-{i}")
        yield made


def stream_client(emulator: Emulator, **more: Any) -> Stream:
    keys = StaticKeys("AKIAEXAMPLE", "example-secret")
    return Stream.open(
        STREAM, region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=keys, **more
    )


def everything(stream: Stream) -> dict[str, UserRecord]:
    return {record.sequence_number: record for record in stream.read("TRIM_HORIZON").records()}


def test_the_same_records_as_by_polling(emulator: Emulator) -> None:
    """With a consumer each shard's range is read by subscription, and has the same records as by polling."""
    polled = everything(stream_client(emulator))
    with stream_client(emulator, consumer="audit") as stream:
        emulator.calls.clear()
        assert everything(stream) == polled
    assert emulator.calls.count("SubscribeToShard") == 2
    wait_until(lambda: not emulator.subscriptions(STREAM), lambda: f"open: {emulator.subscriptions(STREAM)}")


def test_tags_of_a_new_consumer(emulator: Emulator) -> None:
    """A consumer that is registered has the tags of the settings. One that exists keeps its own."""
    with stream_client(
        emulator, consumer="audit", fan_out=FanOutSettings(consumer_tags={"team": "orders", "a": ""})
    ):
        assert tags_of_consumer(emulator.endpoint_url, STREAM, "audit") == {"team": "orders", "a": ""}
        with stream_client(
            emulator, consumer="audit", keep_consumer=True, fan_out=FanOutSettings(consumer_tags={"b": "c"})
        ):
            assert tags_of_consumer(emulator.endpoint_url, STREAM, "audit") == {"team": "orders", "a": ""}


def test_tags_need_a_client_that_knows_them(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older botocore would refuse them with a text about parameters. Without tags it works."""
    from botocore.model import OperationModel

    whole: Any = OperationModel.input_shape

    def older(self: OperationModel) -> Any:
        shape = whole.__get__(self, OperationModel)
        if self.name == "RegisterStreamConsumer":
            shape.members.pop("Tags", None)
        return shape

    monkeypatch.setattr(OperationModel, "input_shape", property(older))
    with pytest.raises(
        OptionError, match=r"cannot register a consumer with tags\. Upgrade boto3, or leave out"
    ):
        stream_client(emulator, consumer="audit", fan_out=FanOutSettings(consumer_tags={"team": "orders"}))
    stream_client(emulator, consumer="audit").close()


def test_repr_names_the_stream_and_how_it_is_read(emulator: Emulator) -> None:
    """The repr of a stream has its name, its region and its consumer. It has no endpoint and no keys."""
    with stream_client(emulator, consumer="audit") as stream:
        assert repr(stream) == "<Stream orders in us-east-1, fan-out by audit>"
    assert repr(stream) == "<Stream orders in us-east-1, polling>"


def test_following_across_a_split(emulator: Emulator) -> None:
    """`follow` reads each batch by subscription, and continues with a shard's children after its end."""
    emulator.split(STREAM, emulator.shard_ids(STREAM)[0])
    for i in range(100, 200):
        emulator.put(STREAM, b"%d" % i, f"key-{i}")
    found: list[bytes] = []
    with stream_client(emulator, consumer="audit") as stream:
        for batch in islice(stream.follow("TRIM_HORIZON"), 2):
            found += [record.data for record in batch.records()]
    assert sorted(found, key=int) == [b"%d" % i for i in range(200)]


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_name_is_removed_unless_it_is_kept(emulator: Emulator, is_kept: bool) -> None:
    """A consumer given by name is registered, and removed when the stream is closed. `close` is idempotent."""
    with stream_client(emulator, consumer="audit", keep_consumer=is_kept) as stream:
        everything(stream)
    stream.close()
    assert emulator.calls.count("DeregisterStreamConsumer") == (0 if is_kept else 1)
    again = stream_client(emulator, consumer="audit")
    assert emulator.calls.count("RegisterStreamConsumer") == (1 if is_kept else 2)
    again.close()


def test_an_arn_is_never_removed(emulator: Emulator) -> None:
    """A consumer given by ARN must exist and belong to the stream. It is kept."""
    arn = emulator.register_consumer(STREAM, "audit")
    emulator.create_stream("others")
    with stream_client(emulator, consumer=arn) as stream:
        assert len(everything(stream)) == 100
    assert emulator.calls.count("DeregisterStreamConsumer") == 0
    with pytest.raises(OptionError, match=r"is not a consumer of .*stream/orders\."):
        stream_client(emulator, consumer=emulator.register_consumer("others", "audit"))
    with pytest.raises(StreamNotFoundError):
        stream_client(emulator, consumer=f"{arn}9")


def test_a_missing_permission_is_an_error_at_once(emulator: Emulator) -> None:
    """Without the permission to subscribe, opening the stream fails and leaves no consumer that costs money."""
    emulator.settings.deny.add("SubscribeToShard")
    with pytest.raises(AccessDeniedError, match="kinesis:SubscribeToShard"):
        stream_client(emulator, consumer="audit")
    assert emulator.calls.count("DeregisterStreamConsumer") == 1


@pytest.mark.parametrize("is_kept", [False, True])
def test_one_that_is_not_active_in_time_is_not_left(emulator: Emulator, is_kept: bool) -> None:
    """A consumer that was registered for a stream that cannot be opened is removed, unless it is to be kept."""
    emulator.settings.consumer_creating_s = 3600
    soon = FanOutSettings(timeout_s=0.1)
    with pytest.raises(ResourceInUseError, match="'audit' is CREATING and not ACTIVE"):
        stream_client(emulator, consumer="audit", keep_consumer=is_kept, fan_out=soon)
    assert emulator.calls.count("RegisterStreamConsumer") == 1
    assert emulator.calls.count("DeregisterStreamConsumer") == (0 if is_kept else 1)


def test_after_closing_it_polls(emulator: Emulator) -> None:
    """A closed stream can still be read, without its consumer."""
    with stream_client(emulator, consumer="audit") as stream:
        batch = stream.read("TRIM_HORIZON")
    emulator.calls.clear()
    assert len(list(batch.records())) == 100
    assert emulator.calls.count("SubscribeToShard") == 0


def test_fan_out_is_imported_on_demand() -> None:
    """Without a consumer no module of fan-out is imported, and HTTP/2 never is by default."""
    program = (
        "import sys, kinesis_core\n"
        "print([m for m in sys.modules if m.startswith(('kinesis_core.reading.fan_out', 'kinesis_core.aws.subscriptions'))])\n"
        "import kinesis_core.reading.fan_out, kinesis_core.aws.subscriptions\n"
        "print([m for m in sys.modules if m.startswith(('httpx2', 'h2'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"
