"""The child process, the command and the pytest fixture."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from kinesis_emulator import Emulator, EmulatorProcess, Settings, cli
from kinesis_emulator.cli import main
from kinesis_emulator.facts import fact
from kinesis_emulator.settings import LATENCIES
from support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.tests
TIMES = (
    *("readable_after_s", "stream_creating_s", "stream_settling_s", "stream_updating_s", "stream_deleting_s"),
    *("consumer_creating_s", "consumer_deleting_s"),
)
COMMAND = [sys.executable, "-m", "kinesis_emulator"]


def test_a_child_process_serves_its_streams(new_client: Callable[..., Any]) -> None:
    """`EmulatorProcess` is ready when the block begins, and has ended when the block ends."""
    with EmulatorProcess({"orders": 4, "audit": 1}, region="eu-west-1") as emulator:
        client = new_client(emulator.endpoint_url, "eu-west-1")
        assert client.list_streams()["StreamNames"] == ["audit", "orders"]
        assert len(client.list_shards(StreamName="orders")["Shards"]) == 4
        client.close()
        port, pid = emulator.port, emulator.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def settings_of(port: int) -> dict[str, Any]:
    """Return the settings of a process, by its control endpoint."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request("POST", "/_control/settings", b"{}")
        shown: dict[str, Any] = json.loads(connection.getresponse().read())
        return shown


def test_a_child_has_the_times_that_it_is_given() -> None:
    """Each argument for a time sets the field of `Settings`; without arguments all have their defaults."""
    times: dict[str, Any] = {name: 10.5 + number for number, name in enumerate(TIMES)}
    with EmulatorProcess(**times) as emulator:
        assert {name: settings_of(emulator.port)[name] for name in TIMES} == times
    with EmulatorProcess() as emulator:
        assert {name: settings_of(emulator.port)[name] for name in TIMES} == {
            name: getattr(Settings(), name) for name in TIMES
        }


def test_times_have_units() -> None:
    """A time of the command is in milliseconds, seconds, minutes or hours; a number alone is in seconds."""
    given = {
        "creating": "500ms",
        "settling": "1e-05",
        "updating": "2m",
        "deleting": "1.5s",
        "consumer-creating": "1h",
    }
    options = [part for name, text in given.items() for part in (f"--{name}", text)]
    command = [*COMMAND, "--port", "0", *options, "--readable-after-s", "3", "--signed-within", "5m"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        shown = settings_of(int(child.stdout.readline().rpartition(":")[2]))
        child.terminate()
        child.stdout.read()
    fields = [*(f"stream_{name}_s" for name in list(given)[:4]), "consumer_creating_s"]
    assert [shown[field] for field in fields] == [0.5, 1e-05, 120, 1.5, 3600]
    assert (shown["readable_after_s"], shown["signed_within_s"]) == (3, 300)


def test_a_child_has_the_times_of_aws() -> None:
    """With `like_aws` times are those of the facts, but those that are given."""
    with EmulatorProcess(like_aws=True, stream_updating_s=0.25) as emulator:
        shown = settings_of(emulator.port)
    assert {name: shown[name] for name in LATENCIES} == {
        **{name: fact(name) for name in LATENCIES},
        "stream_updating_s": 0.25,
    }


def test_a_child_with_another_clock_refuses_signatures(new_client: Callable[..., Any]) -> None:
    """A child whose clock is an hour ahead refuses the signatures of this clock as old, if it checks them."""
    with EmulatorProcess({"orders": 1}, clock_skew_s=3600, signed_within_s=300) as emulator:
        client = new_client(emulator.endpoint_url)
        with pytest.raises(ClientError, match="Signature expired"):
            client.list_streams()
        client.close()


def test_a_child_process_may_fail_by_seed(new_client: Callable[..., Any]) -> None:
    """With a share of 1 every call of the child fails in some way."""
    with (
        EmulatorProcess({"orders": 1}, fault_share=1.0, fault_seed=7) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        for _ in range(10):
            with suppress(BotoCoreError, ClientError):
                assert "Shards" not in client.list_shards(StreamName="orders")


def test_a_childs_records_may_be_readable_later(new_client: Callable[..., Any]) -> None:
    """A child holds records back for the given time, and its pages have a lag."""
    with EmulatorProcess({"orders": 1}, readable_after_s=3600) as emulator:
        client = new_client(emulator.endpoint_url)
        client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")
        params = {"StreamName": "orders", "ShardId": "shardId-000000000000"}
        iterator = client.get_shard_iterator(**params, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        page = client.get_records(ShardIterator=iterator)
        client.close()
    assert page["Records"] == []
    assert page["MillisBehindLatest"] > 0


def test_the_child_ends_when_its_parent_is_killed() -> None:
    """The emulator ends with a parent that dies without cleaning up."""
    program = (
        "import os, signal\n"
        "from kinesis_emulator import EmulatorProcess\n"
        "emulator = EmulatorProcess()\n"
        "emulator.start()\n"
        "print(emulator.port, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == -signal.SIGKILL
    with socket.socket() as probe:
        probe.settimeout(PATIENCE_S)
        # The connection stays open while the emulator runs. The test waits for its end.
        if probe.connect_ex(("127.0.0.1", int(done.stdout))) == 0:
            assert read_until_closed(probe) == b""


def read_until_closed(probe: socket.socket) -> bytes:
    try:
        return probe.recv(1)
    except ConnectionResetError:
        return b""


def test_a_busy_port_is_a_clear_error(emulator: Emulator) -> None:
    """A port in use ends the command, and a child's start, with a message that says what to do."""
    with pytest.raises(RuntimeError, match=f"cannot listen on 127.0.0.1:{emulator.port}: .*--port 0"):
        EmulatorProcess(port=emulator.port).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_says_where_it_listens_and_ends_cleanly(number: int) -> None:
    """The command prints endpoint and options first, and ends with status 0 on Ctrl-C."""
    command = [*COMMAND, "--port", "0", "--stream", "orders=4", "--stream", "audit"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        first = child.stdout.readline()
        child.send_signal(number)
        rest, errors = child.stdout.read(), child.stderr.read()
    assert first.startswith("kinesis-emulator listens on http://127.0.0.1:")
    assert "stream orders with 4 shards\n  stream audit with 1 shard\n" in rest
    assert "AWS_ENDPOINT_URL_KINESIS=http://127.0.0.1:" in rest
    assert '.option("endpointUrl"' in rest
    assert (child.returncode, errors) == (0, "")


def test_a_stream_that_was_kept(tmp_path: Path) -> None:
    """A stream of an earlier run is shown with the shards that it has."""
    shown = []
    for shards in (2, 3):
        command = [*COMMAND, "--port", "0", "--data", str(tmp_path), "--stream", f"orders:{shards}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            shown.append([child.stdout.readline() for _ in range(2)][1])
            child.terminate()
            child.stdout.read()
    assert shown == ["  stream orders with 2 shards\n"] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "is not a port"),
        (["--stream", "orders:none"], "is not NAME or NAME=SHARDS"),
        (["--stream", "orders=none"], "is not NAME or NAME=SHARDS"),
        (["--stream", "orders="], "is not NAME or NAME=SHARDS"),
        (["--stream", "=4"], "is not NAME or NAME=SHARDS"),
        (["--stream", ":4"], "is not NAME or NAME=SHARDS"),
        (["--stream", "orders:=4"], "is not NAME or NAME=SHARDS"),
        (["--readable-after-s", "soon"], "'soon' is not a time, such as 500ms, 2.5s or 1m"),
        (["--readable-after-s", "inf"], "is not a time"),
        (["--readable-after", "9" * 400], "is not a time"),
        (["--creating", "2d"], "is not a time"),
        (["--creating", "s"], "is not a time"),
        (["--signed-within-s", "-1"], "is not a time"),
    ],
)
def test_malformed_options_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A malformed option ends the command with status 2 and the accepted values."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_streams_are_there_before_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that gets a response, such as that of a health check, finds the streams of the command line."""
    found = []
    monkeypatch.setattr(Emulator, "start", lambda emulator: found.append(emulator.has_stream("orders")))
    monkeypatch.setattr(cli, "_wait", lambda *_: None)
    assert main(["--port", "0", "--stream", "orders"]) == 0
    assert found == [True]


def test_a_stream_named_twice_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Two streams of one name end the command with AWS's message."""
    assert main(["--port", "0", "--stream", "a", "--stream", "a"]) == 2
    assert "already exists" in capsys.readouterr().err


def test_an_open_host_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An emulator that others on the network can reach says so. One on the loopback interface does not."""
    refused = ["--port", "0", "--stream", "a", "--stream", "a"]
    main(refused)
    assert "others" not in capsys.readouterr().err
    monkeypatch.setattr(Emulator, "is_local", False)  # nothing here listens on another interface
    main(refused)
    assert "it listens on 127.0.0.1: others on the network can read and write" in capsys.readouterr().err


def test_a_host_that_is_not_here(capsys: pytest.CaptureFixture[str]) -> None:
    """A host without an address here is an error that names it."""
    assert main(["--host", "192.0.2.7", "--port", "0"]) == 2
    assert "cannot listen on 192.0.2.7:0: " in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--tls-certificate", "--tls-key"])
def test_a_certificate_needs_its_key(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate without a key, or a key without a certificate, ends the command."""
    assert main(["--port", "0", option, "file.pem"]) == 2
    assert "--tls-certificate and --tls-key belong together" in capsys.readouterr().err


def test_a_child_elsewhere() -> None:
    """A child listens on the given host, and lets the given web pages call."""
    with EmulatorProcess(host="localhost", cors=["http://localhost:3000"]) as emulator:
        assert emulator.endpoint_url == f"http://localhost:{emulator.port}"
        client = http.client.HTTPConnection("localhost", emulator.port, timeout=PATIENCE_S)
        client.request("OPTIONS", "/", headers={"Origin": "http://localhost:3000"})
        assert client.getresponse().getheader("Access-Control-Allow-Origin") == "http://localhost:3000"
        client.close()


def test_the_log_of_a_child() -> None:
    """A program sees what its child has logged, such as why it refused a client."""
    with EmulatorProcess() as emulator:
        assert emulator.log() == ""
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as client:
                client.sendall(b"\x16\x03\x01")
                client.shutdown(socket.SHUT_WR)
                assert client.recv(1024)
        wait_until(lambda: emulator.log().count("TLS on a plain port.") == 2)
    assert emulator.log() == ""


def test_the_fixture_comes_with_the_package(
    kinesis_emulator: Emulator, new_client: Callable[..., Any]
) -> None:
    """pytest has the fixture `kinesis_emulator`: a new emulator without throttling."""
    kinesis_emulator.create_stream("orders")
    client = new_client(kinesis_emulator.endpoint_url)
    params = {"StreamName": "orders", "ShardId": "shardId-000000000000", "ShardIteratorType": "LATEST"}
    for _ in range(10):
        client.get_shard_iterator(**params)
    assert kinesis_emulator.calls.count("GetShardIterator") == 10
    client.close()
