"""The command `kinesis lag`: how far readers are behind, by checkpoints and lease tables."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from cli.own_checkpoints import leave_own_checkpoint
from kinesis_emulator import Emulator
from support.command_line import CommandLine, Following
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.left_checkpoints import QUBOLE_LOG, after, leave_checkpoint
from support.streams import StreamUnderTest
from support.waiting import PATIENCE_S, wait_until
from support.witness import kinesis_local

Create = Callable[[int], str]
HOUR_S = 3600.0


@pytest.fixture
def stream(create: Create) -> str:
    return create(2)


@pytest.fixture
def put(emulator: Emulator, stream: str) -> Callable[..., str]:
    """Return a function that puts a record of some age into the first or second shard, and returns its sequence number."""

    def put_record(shard: int = 0, age_s: float = 0.0, data: bytes = b"x") -> str:
        key = shard * 2**127
        record = emulator.put(stream, data, "k", key, arrived_s=time.time() - age_s)
        return str(record.sequence_number)

    return put_record


@pytest.fixture
def commit(emulator: Emulator, stream: str, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that leaves a checkpoint of a query that has read everything in the stream."""

    def committed(batch: int = 0, name: str = "checkpoint") -> Path:
        return leave_own_checkpoint(tmp_path / name, emulator, stream, batch)

    return committed


@pytest.fixture
def database() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        running.create_table(leaseKey="HASH")
        yield running


@pytest.fixture
def with_tables(kinesis: CommandLine, database: DynamoDb) -> CommandLine:
    """The command line, with a DynamoDB too."""
    return kinesis.having({"AWS_ENDPOINT_URL_DYNAMODB": database.endpoint_url})


def states(document: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return shard, state, and whether the lag is above 0, of all readers."""
    return [
        (shard["shardId"][-1], shard["state"], bool(shard["lagMs"]))
        for reader in document["readers"]
        for shard in reader["shards"]
    ]


def lag(kinesis: CommandLine, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kinesis("lag", *arguments, "-o", "json").out)
    return found


def test_a_checkpoint(
    kinesis: CommandLine, stream: str, put: Callable[..., str], commit: Callable[..., Path]
) -> None:
    """A query that has read everything is current. What comes then counts from its arrival."""
    put(0), put(1)
    folder = commit()
    assert states(lag(kinesis, stream, "--checkpoint", str(folder))) == [
        ("0", "current", False),
        ("1", "current", False),
    ]
    put(1, age_s=HOUR_S + 20)
    put(1, age_s=60)
    lines = kinesis("lag", stream, "--checkpoint", str(folder)).lines
    assert re.fullmatch(rf"{folder}  spark  1 h  1 of 2 shards  batch 0 committed .* ago", lines[1])
    assert re.fullmatch(r"shardId-000000000001   1 h  behind   AFTER …\d{12}", lines[4])
    assert re.fullmatch(r"shardId-000000000000  0 ms  current  AFTER …\d{12}", lines[5])


def test_a_lease_table(
    with_tables: CommandLine,
    database: DynamoDb,
    stream: str,
    put: Callable[..., str],
    commit: Callable[..., Path],
) -> None:
    """An application and a query are shown side by side, with the worker that has each lease."""
    read, _ = put(0, age_s=7200), put(1, age_s=HOUR_S + 20)
    folder = commit()
    put(0, age_s=1820)
    database.put_item(kcl_lease("shardId-000000000000", read, 0, leaseOwner={"S": "worker-1"}))
    database.put_item(kcl_lease("shardId-000000000001", "TRIM_HORIZON"))
    lines = with_tables("lag", stream, "--checkpoint", str(folder), "--application", database.table).lines
    found = [line.split() for line in lines]
    assert found[1][:2] == [str(folder), "spark"]
    assert found[2] == [database.table, "application", "1", "h", "2", "of", "2", "shards", "1", "worker"]
    assert found[5][:6] == ["shardId-000000000001", str(folder), "0", "ms", "current", "AFTER"]
    assert found[6] == ["shardId-000000000001", database.table, "1", "h", "behind", "TRIM_HORIZON", "-"]
    assert found[8][-1] == "worker-1"
    assert found[8][2:4] == ["30", "min"]


def test_one_reader_of_two(with_tables: CommandLine, stream: str, commit: Callable[..., Path]) -> None:
    """What can be read is shown, the rest is an error line, and the exit status is 3."""
    ran = with_tables(
        "lag", stream, "--checkpoint", str(commit()), "--application", "no-such-table", status=3
    )
    assert ran.lines[2].split() == ["no-such-table", "-", "-", "-", "not", "known"]
    assert ran.err.startswith("The lease table no-such-table does not exist.")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "Which readers? Give --checkpoint"),
        (["--checkpoint", "x", "--checkpoint", "x"], "'x' is given twice"),
        (["--checkpoint", "x", "--watch", "0"], "--watch is 0. Use 0.1 to 86400 seconds"),
        (["--checkpoint", "x", "--serve", "nowhere"], "--serve is 'nowhere'. Use [HOST]:PORT"),
        (["--checkpoint", "x", "-o", "xml"], "xml"),
    ],
)
def test_wrong_command_lines(
    kinesis: CommandLine, emulator: Emulator, arguments: list[str], error: str
) -> None:
    """A wrong command line is refused before any call."""
    calls = emulator.calls.count("DescribeStreamSummary")
    ran = kinesis("lag", "orders", *arguments, status=2)
    assert error in ran.err
    assert emulator.calls.count("DescribeStreamSummary") == calls


def test_watch_in_a_pipe(
    kinesis: CommandLine, stream: str, put: Callable[..., str], commit: Callable[..., Path]
) -> None:
    """In a pipe, --watch writes block after block, and reads the checkpoint each time. Ctrl-C ends it."""
    folder = commit()
    with kinesis.started("lag", stream, "--checkpoint", str(folder), "--watch", "0.1") as watching:
        block = watching.lines(8)
        assert re.fullmatch(rf"20\S+Z {stream}", block[0])
        assert block[-1] == ""
        assert "0 of 2 shards  batch 0 committed" in block[2]
        put(0, age_s=30)
        wait_for_block(watching, "1 of 2 shards  batch 0 committed")
        commit(batch=1)
        wait_for_block(watching, "0 of 2 shards  batch 1 committed")
        ran = watching.interrupt()
    assert ran.status == 130
    assert ran.err == ""


def wait_for_block(watching: Following, text: str) -> None:
    while text not in "".join(watching.lines(8)):
        pass


def test_watch_as_json(kinesis: CommandLine, stream: str, commit: Callable[..., Path]) -> None:
    """With -o json, each measurement is a line."""
    arguments = ("lag", stream, "--checkpoint", str(commit()), "-o", "json", "--watch", "0.1")
    with kinesis.started(*arguments) as watching:
        assert [states(json.loads(line)) for line in watching.lines(2)] == [
            [("0", "current", False), ("1", "current", False)]
        ] * 2


@contextmanager
def refused(emulator: Emulator) -> Iterator[None]:
    """For so long, Kinesis refuses to describe streams."""
    emulator.settings.deny.add("DescribeStreamSummary")
    try:
        yield
    finally:
        emulator.settings.deny.remove("DescribeStreamSummary")


def wait_for_measurements(emulator: Emulator, stream: str) -> None:
    """Wait for several measurements, also ones that fail."""
    calls = emulator.calls.count("DescribeStreamSummary", stream)
    wait_until(lambda: emulator.calls.count("DescribeStreamSummary", stream) > calls + 3)


def test_an_outage_while_it_watches(
    kinesis: CommandLine, emulator: Emulator, stream: str, commit: Callable[..., Path]
) -> None:
    """In a pipe, an outage is one line on the standard error. Measurements go on afterwards."""
    folder = commit()
    with kinesis.started("lag", stream, "--checkpoint", str(folder), "--watch", "0.1") as watching:
        wait_for_block(watching, "batch 0 committed")
        with refused(emulator):
            wait_for_measurements(emulator, stream)
        commit(batch=1)
        wait_for_block(watching, "batch 1 committed")
        ran = watching.interrupt()
    assert ran.status == 130
    assert ran.err.count("AccessDeniedException") == ran.err.count("\n") == 1


@pytest.mark.everything
def test_an_outage_on_a_terminal(
    kinesis: CommandLine,
    emulator: Emulator,
    stream: str,
    put: Callable[..., str],
    commit: Callable[..., Path],
) -> None:
    """On a terminal the table is refreshed in place. A problem is shown with the last one, and Ctrl-C shows the cursor again."""
    with kinesis.terminal(
        "lag", stream, "--checkpoint", str(commit()), "--watch", "0.1", size=(160, 30)
    ) as terminal:
        terminal.wait_for("0 of 2 shards")
        with refused(emulator):
            terminal.wait_for("AccessDeniedException")
            terminal.wait_for("0 of 2 shards")
            put(1, age_s=30)
        terminal.wait_for("1 of 2 shards")
        terminal.type("\x03")
        ran = terminal.rest()
    assert ran.status == 130
    assert b"\x1b[?25h" in ran.out


def test_a_watch_that_cannot_begin(kinesis: CommandLine, commit: Callable[..., Path]) -> None:
    """If the first measurement fails, the command does: the name may be wrong."""
    ran = kinesis("lag", "no-such-stream", "--checkpoint", str(commit()), "--watch", "0.1", status=1)
    assert "no-such-stream" in ran.err


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scrape(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as response:
        lines = response.read().decode().splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")
    }


def wait_for_metric(port: int, name: str, is_it: Callable[[float | None], bool]) -> dict[str, float]:
    deadline = time.monotonic() + PATIENCE_S
    while not is_it((found := scrape(port)).get(name)):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def test_serve(
    kinesis: CommandLine,
    emulator: Emulator,
    stream: str,
    put: Callable[..., str],
    commit: Callable[..., Path],
) -> None:
    """--serve has the metrics of each shard and reader on the loopback interface, and measures on."""
    folder, port = commit(), free_port()
    with kinesis.started(
        "lag", stream, "--checkpoint", str(folder), "--serve", f":{port}", "--watch", "0.1"
    ) as serving:
        line = serving.err.readline().decode()
        assert line.startswith(f"Serving metrics at http://127.0.0.1:{port}/metrics, measured every 0.1 s.")
        of = f'reader="{folder}",stream="{stream}"'
        by_shard = f'reader="{folder}",shard="shardId-000000000000",stream="{stream}"'
        found = wait_for_metric(port, f"kinesis_reader_up{{{of}}}", lambda value: value is not None)
        assert found[f"kinesis_reader_up{{{of}}}"] == 1
        sockets = psutil.Process(serving.process.pid).net_connections(kind="tcp")
        assert {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
        assert found[f"kinesis_reader_lag_seconds{{{by_shard}}}"] == 0
        put(0, age_s=30)
        found = wait_for_metric(
            port, f"kinesis_reader_max_lag_seconds{{{of}}}", lambda value: (value or 0) >= 30
        )
        assert found[f"kinesis_reader_lag_seconds{{{by_shard}}}"] >= 30
        (folder / "offsets" / "0").rename(folder / "offsets" / "broken")
        wait_for_metric(port, f"kinesis_reader_up{{{of}}}", lambda value: value == 0)
        wait_for_measurements(emulator, stream)
        emulator.delete_stream(stream)
        found = wait_for_metric(
            port, f'kinesis_stream_retention_seconds{{stream="{stream}"}}', lambda value: value is None
        )
        assert found == {f"kinesis_reader_up{{{of}}}": 0}
        ran = serving.interrupt()
    assert ran.status == 130
    assert ran.err.count("has no batch yet") == 1  # and not every 0.1 seconds


def test_serve_while_kinesis_does_not_respond(kinesis: CommandLine, commit: Callable[..., Path]) -> None:
    """Until the first measurement is done there is an endpoint, without a metric."""
    port = free_port()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = kinesis.having({"AWS_ENDPOINT_URL_KINESIS": endpoint_url})
        with command.started(
            "lag", "orders", "--checkpoint", str(commit()), "--serve", f":{port}"
        ) as serving:
            assert serving.err.readline().startswith(b"Serving metrics at ")
            assert scrape(port) == {}
            assert serving.interrupt().status == 130


def test_serve_on_a_taken_port(
    kinesis: CommandLine, emulator: Emulator, stream: str, commit: Callable[..., Path]
) -> None:
    """An address that cannot be used is an error, before the first measurement."""
    folder = commit()
    calls = emulator.calls.count("DescribeStreamSummary", stream)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = kinesis("lag", stream, "--checkpoint", str(folder), "--serve", f":{port}", status=1)
    assert f"127.0.0.1:{port} cannot be served: " in ran.err
    assert emulator.calls.count("DescribeStreamSummary", stream) == calls


@pytest.mark.witness
def test_another_kinesis(kinesis: CommandLine, tmp_path: Path) -> None:
    """The same on a Kinesis that others wrote: read to the end, with records to read, and with a shard that was split."""
    with kinesis_local() as endpoint_url:
        stream = StreamUnderTest(endpoint_url, f"orders-{uuid.uuid4().hex[:8]}")
        read, unread = stream.put("first", "second")
        command = kinesis.having({"AWS_ENDPOINT_URL_KINESIS": endpoint_url})

        def measured(name: str, number: str) -> list[tuple[str, str, bool]]:
            ended = {read.shard_id: after(number)}
            leave_checkpoint(tmp_path / name, QUBOLE_LOG, stream.name, ended, ended)
            return states(lag(command, stream.name, "--checkpoint", str(tmp_path / name)))

        assert measured("behind", read.sequence_number) == [("0", "behind", True)]
        assert measured("current", unread.sequence_number) == [("0", "current", False)]
        stream.split()
        stream.put_numbers(10)
        found = measured("current", unread.sequence_number)
        assert found == [("0", "current", False), ("1", "waiting", True), ("2", "waiting", True)]
