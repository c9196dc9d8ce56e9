"""`kinesis copy`: the records of one stream are written to another one."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_cli.ending import Status
from kinesis_emulator import Emulator, Fault, FaultScript, Limits, Request, Settings, Step
from support.command_line import CommandLine
from support.loops import variants
from support.streams import StreamUnderTest, make_client
from support.user_records import await_data, data_of, user_records
from support.waiting import wait_until

Create = Callable[[int], str]


def fill(kinesis: CommandLine, stream: str, count: int, first: int = 0) -> list[bytes]:
    """Put records with keys, and return them sorted."""
    lines = [b'{"id": %d}' % number for number in range(first, first + count)]
    kinesis("put", stream, "--key", ".id", stdin=b"\n".join(lines))
    return sorted(lines)


def test_records_and_keys(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """User records are copied with their partition keys and explicit hash keys, whatever the number of shards is."""
    source, destination = create(2), create(3)
    fill(kinesis, source, 500)
    kinesis("put", source, "-k", "c", "--explicit-hash-key", "7", stdin=b"x\ny\n")
    ran = kinesis("copy", source, destination)
    assert (ran.out, ran.err) == (b"", f"502 records copied to {destination}\n")
    facts = [
        sorted(
            (record.data, record.partition_key, record.explicit_hash_key)
            for record in user_records(emulator, name)
        )
        for name in (source, destination)
    ]
    assert facts[0] == facts[1]
    assert (b"y", "c", "7") in facts[0]


def test_aggregates(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Records are aggregated again, unless --no-aggregate is given."""
    source, together, apart = create(1), create(1), create(1)
    fill(kinesis, source, 100)
    kinesis("copy", source, together)
    kinesis("copy", source, apart, "--no-aggregate")
    assert len(emulator.records(together)) < 10
    assert len(emulator.records(apart)) == 100


def test_part_of_a_stream(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """--since and --until choose a part by the times of arrival."""
    source, later, earlier = create(1), create(1), create(1)
    for number in range(3):
        emulator.put(source, b"%d" % number)
        now_ms = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 <= now_ms + 1:
            pass
    time_ms = emulator.records(source)[1].arrived_ms or 0
    kinesis("copy", source, later, "--since", f"AT_TIMESTAMP {time_ms / 1000:.3f}")
    kinesis("copy", source, earlier, "--until", f"AT_TIMESTAMP {time_ms / 1000:.3f}")
    assert (data_of(emulator, later), data_of(emulator, earlier)) == ([b"1", b"2"], [b"0"])


def test_state(kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path) -> None:
    """With a file for the state the same command goes on where it ended, and copies nothing twice."""
    source, destination, state = create(2), create(1), str(tmp_path / "state")
    first = fill(kinesis, source, 30)
    kinesis("copy", source, destination, "--state", state)
    assert data_of(emulator, destination) == first
    second = fill(kinesis, source, 30, first=30)
    ran = kinesis("copy", source, destination, "--state", state)
    assert ran.err.splitlines()[0].startswith("Continues after 20")
    assert data_of(emulator, destination) == sorted(first + second)
    assert kinesis("copy", source, destination, "--state", state).err.endswith(
        f"\n0 records copied to {destination}\n"
    )
    assert data_of(emulator, destination) == sorted(first + second)


@pytest.mark.parametrize(
    ("number", "status"), variants([(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
)
def test_follow(
    kinesis: CommandLine,
    emulator: Emulator,
    create: Create,
    tmp_path: Path,
    number: signal.Signals,
    status: int,
) -> None:
    """With --follow the copy goes on until a signal comes. Then it can be continued."""
    source, destination, state = create(2), create(1), tmp_path / "state"
    first = fill(kinesis, source, 10)
    with kinesis.started("copy", source, destination, "--follow", "--state", str(state)) as running:
        await_data(emulator, destination, first)
        second = fill(kinesis, source, 10, first=10)
        await_data(emulator, destination, sorted(first + second))
        ran = running.end(number)
    assert (ran.status, ran.err) == (status, f"20 records copied to {destination}, stopped\n")
    third = fill(kinesis, source, 10, first=20)
    kinesis("copy", source, destination, "--state", str(state))
    assert set(data_of(emulator, destination)) == {*first, *second, *third}


def test_what_was_read_is_written_at_once(kinesis: CommandLine) -> None:
    """A page of the source is written before the next one is read, so that large records do not fill the memory."""
    count = 36  # four pages, and twice what a producer buffers: the last page cannot be read before anything is written
    is_reading_on, is_over = threading.Event(), threading.Event()

    def wait(request: Request) -> None:
        if request.action == "GetRecords" and emulator.records("copied"):
            is_reading_on.set()
            is_over.wait()

    settings = Settings(limits=Limits.unlimited(), fault=wait)
    with Emulator(settings=settings) as emulator:
        for stream in ("orders", "copied"):
            emulator.create_stream(stream, 1)
        for number in range(count):
            emulator.put("orders", bytes([number]) * 900_000)
        try:
            with kinesis.to(emulator).started("copy", "orders", "copied") as running:
                wait_until(is_reading_on.is_set)
                ran = running.interrupt()
        finally:
            is_over.set()
        numbers = sorted(data[0] for data in data_of(emulator, "copied"))
    copied = len(numbers)
    assert ran.status == 130
    assert 0 < copied < count
    assert numbers == list(range(copied))
    assert ran.err.startswith(f"{copied} record")


@pytest.mark.parametrize("span", [("--since", "5m", "--until", "10m"), ("--since", "2099-01-01T00:00:00Z")])
def test_no_time_to_copy(kinesis: CommandLine, create: Create, span: tuple[str, ...]) -> None:
    """A copy that begins after its end, or in the future, is a wrong command line."""
    ran = kinesis("copy", create(1), create(1), *span, status=2)
    assert ran.err.count("\n") == 1
    assert "--since" in ran.err


def test_the_same_stream(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A stream is not copied to itself, whether it is given by name or by ARN, and whatever its endpoint is called."""
    source, url = create(1), emulator.endpoint_url
    fill(kinesis, source, 1)
    arn = f"arn:aws:kinesis:{emulator.settings.region}:000000000000:stream/{source}"
    for destination in (source, arn):
        for endpoint in (url, f"{url}/", url.replace("127.0.0.1", "localhost")):
            ran = kinesis("copy", source, destination, "--to-endpoint-url", endpoint, status=2)
            assert "Source and destination are the same stream" in ran.err
    assert len(user_records(emulator, source)) == 1


def test_another_server(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """The destination may be another service, with a stream of the same name."""
    source = create(1)
    wanted = fill(kinesis, source, 10)
    with Emulator() as other:
        other.create_stream(source, 1)
        kinesis("copy", source, source, "--to-endpoint-url", other.endpoint_url)
        assert data_of(other, source) == wanted
    assert len(user_records(emulator, source)) == 10


def test_records_that_do_not_fit(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A record that the destination does not accept is named, those around it are copied, and the exit status is 3."""
    source, destination = create(1), create(1)
    client = make_client(emulator.endpoint_url)
    arn = client.describe_stream_summary(StreamName=source)["StreamDescriptionSummary"]["StreamARN"]
    client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=2048)
    emulator.put(source, b"a")
    client.put_record(StreamName=source, PartitionKey="c", Data=b"secret" * 200_000)
    emulator.put(source, b"b")
    number = emulator.records(source)[1].sequence_number
    ran = kinesis("copy", source, destination, status=3)
    assert f"record {number} of shardId-000000000000 has 1172 KiB" in ran.err
    assert ran.err.splitlines()[-1] == f"2 records copied to {destination}, 1 not written"
    assert "secret" not in ran.err
    assert data_of(emulator, destination) == [b"a", b"b"]


def test_json(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """-o json has the counts of the last line, and replaces it."""
    source, destination = create(1), create(1)
    fill(kinesis, source, 5)
    ran = kinesis("copy", source, destination, "-o", "json")
    assert json.loads(ran.text) == {
        "stream": destination,
        "written": 5,
        "recordsOfKinesis": len(emulator.records(destination)),
        "notWritten": 0,
        "maybeMissing": 0,
        "sentAgain": 0,
    }
    assert ran.err == ""


def test_a_destination_that_refuses(kinesis: CommandLine, create: Create) -> None:
    """When the destination refuses, the error says how many records may be missing, and the state is not saved."""
    source = create(1)
    fill(kinesis, source, 5)
    denied = Step(Fault(code="AccessDeniedException"), "PutRecords", times=None)
    with Emulator(settings=Settings(fault=FaultScript(denied))) as other:
        other.create_stream("orders", 1)
        to_it = ("--to-endpoint-url", other.endpoint_url)
        ran = kinesis("copy", source, "orders", *to_it, "-o", "json", status=1)
    assert "0 records copied, and 5 may be missing." in ran.err
    counts = json.loads(ran.text)
    assert (counts["stream"], counts["written"], counts["maybeMissing"]) == ("orders", 0, 5)


def test_a_source_that_fails(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """When reading fails, what was read before is written, and the exit status is 3."""
    destination = create(1)
    denied = Step(Fault(code="AccessDeniedException"), "GetRecords", after_calls=8, times=None)
    with Emulator(settings=Settings(fault=FaultScript(denied))) as other:
        other.create_stream("orders", 1)
        reading = kinesis.to(other)
        first = fill(reading, "orders", 5)
        with reading.started(
            "copy", "orders", destination, "--follow", "--to-endpoint-url", emulator.endpoint_url
        ) as running:
            await_data(emulator, destination, first)
            while running.process.poll() is None:
                other.put("orders", b"more")
                time.sleep(0.02)  # until the source has failed
            ran = running.rest()
    assert ran.status == 3
    assert "AccessDeniedException" in ran.err
    assert "The records that were read before are written." in ran.err


@pytest.mark.witness
def test_to_a_server_that_is_not_ours(
    kinesis: CommandLine, emulator: Emulator, create: Create, witness: str
) -> None:
    """kinesis-local gets all records, and gives all of them back."""
    source, back = create(2), create(1)
    wanted = fill(kinesis, source, 50)
    StreamUnderTest(witness, name="copied", shards=2)
    kinesis("copy", source, "copied", "--to-endpoint-url", witness)
    kinesis("copy", "copied", back, "--endpoint-url", witness, "--to-endpoint-url", emulator.endpoint_url)
    assert data_of(emulator, back) == wanted


def test_a_state_that_can_no_longer_be_written(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path
) -> None:
    """The error names the file, and comes after the count of what was copied."""
    source, destination, state = create(1), create(1), tmp_path / "state"
    emulator.put(source, b"x")
    (tmp_path / "state.new").mkdir()  # where the file is written before it gets its name
    ran = kinesis("copy", source, destination, "--state", str(state), status=None)
    counted, line = ran.err.splitlines()
    assert counted.endswith(f" copied to {destination}")
    assert ran.status == (Status.FAILED if counted.startswith("0 ") else Status.INCOMPLETE)
    assert line == (
        f"kinesis copy: {state} cannot be written: Is a directory. Name a file. The records that were read before are written."
    )
