"""TLS: certificates that are given or made, both versions of HTTP, and clients that do not speak it."""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from kinesis_emulator import Emulator, EmulatorProcess, Limits, ManualClock, Settings, server, tls
from support.certificates import make_certificate
from support.http2_client import Http2Client
from support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.tests  # cryptography is not in the loop `unit`


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def secure(files: tuple[Path, Path], clock: ManualClock) -> Iterator[Emulator]:
    """Yield an emulator whose clock stands still: a subscription without records sends nothing."""
    with Emulator(settings=Settings(limits=Limits.unlimited()), clock=clock, tls=files) as emulator:
        emulator.create_stream("orders")
        yield emulator


def trusting(emulator: Emulator, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(emulator.certificate))
    context.set_alpn_protocols(list(protocols))
    return context


def test_a_made_certificate(new_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that is made at the start is valid for clients that trust its authority, and is removed at the end."""
    with Emulator(tls=True) as emulator:
        assert emulator.certificate is not None
        assert [path.name for path in emulator.certificate.parent.iterdir() if "key" in path.name] == []
        monkeypatch.setenv("AWS_CA_BUNDLE", str(emulator.certificate))
        assert emulator.endpoint_url == f"https://127.0.0.1:{emulator.port}"
        client = new_client(emulator.endpoint_url)
        assert client.list_streams()["StreamNames"] == []
        client.close()
        strict = trusting(emulator)
        strict.verify_flags |= ssl.VERIFY_X509_STRICT
        for name in ("localhost", "127.0.0.1", "::1"):
            with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as plain:
                strict.wrap_socket(plain, server_hostname=name).close()
    assert not emulator.certificate.parent.exists()


@pytest.mark.parametrize(
    ("offered", "chosen"), [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1"), ([], None)]
)
def test_the_client_chooses_the_protocol(secure: Emulator, offered: list[str], chosen: str | None) -> None:
    """ALPN decides between the versions of HTTP. Without it a client speaks HTTP/1.1."""
    with (
        socket.create_connection(("127.0.0.1", secure.port), timeout=PATIENCE_S) as plain,
        trusting(secure, *offered).wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        assert client.selected_alpn_protocol() == chosen
        if chosen != "h2":
            client.sendall(b"GET /health HTTP/1.1\r\n\r\n")
            assert client.recv(1024).startswith(b"HTTP/1.1 200 OK\r\n")


def test_without_h2(secure: Emulator, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package h2 the server does not offer HTTP/2."""
    monkeypatch.setattr(server, "HAS_HTTP2", False)
    with (
        Emulator(tls=files) as emulator,
        socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE_S) as plain,
        trusting(secure, "h2", "http/1.1").wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        assert client.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("protocols", [["h2"], []], ids=["by ALPN", "by prior knowledge"])
def test_http2(secure: Emulator, protocols: list[str]) -> None:
    """Calls, megabytes and subscriptions over TLS."""
    for _ in range(9):
        secure.put("orders", bytes(1_000_000))
    consumer, shard_id = secure.register_consumer("orders", "one"), secure.shard_ids("orders")[0]
    start = {"StreamName": "orders", "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
    with Http2Client(secure.port, trusting(secure, *protocols)) as http2:
        iterator = http2.answer(http2.call("GetShardIterator", **start)).json["ShardIterator"]
        assert len(http2.answer(http2.call("GetRecords", ShardIterator=iterator)).json["Records"]) == 9
        subscription = http2.call(
            "SubscribeToShard", ConsumerARN=consumer, ShardId=shard_id, StartingPosition={"Type": "LATEST"}
        )
        http2.wait(subscription, lambda answer: answer.body)
        assert secure.subscriptions("orders") == [("one", shard_id)]
    wait_until(lambda: not secure.subscriptions("orders"))


def test_a_subscription_by_http1(
    secure: Emulator, new_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subscription over TLS by HTTP/1.1 ends when its client leaves."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(secure.certificate))
    secure.put("orders", b"tea")
    client = new_client(secure.endpoint_url)
    response = client.subscribe_to_shard(
        ConsumerARN=secure.register_consumer("orders", "one"),
        ShardId=secure.shard_ids("orders")[0],
        StartingPosition={"Type": "TRIM_HORIZON"},
    )
    assert next(iter(response["EventStream"]))["SubscribeToShardEvent"]["Records"][0]["Data"] == b"tea"
    response["EventStream"].close()
    wait_until(lambda: not secure.subscriptions("orders"))
    client.close()


@pytest.mark.parametrize("begins", [b"GET /health HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
def test_a_plain_client(secure: Emulator, begins: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """A client without TLS gets a response that it understands, and the log has one line."""
    with socket.create_connection(("127.0.0.1", secure.port), timeout=PATIENCE_S) as client:
        client.sendall(begins)
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(1024), b""))
    assert received.startswith(b"HTTP/1.1 400 " if begins.startswith(b"GET") else b"\0\0\0\4\0")
    assert b"Use https://" in received
    (line,) = caplog.messages
    assert line.endswith("reason=HTTP without TLS on a port with TLS. Use https://.")


def test_a_client_that_does_not_trust(secure: Emulator, caplog: pytest.LogCaptureFixture) -> None:
    """The log says that a client has refused the certificate."""
    with (
        socket.create_connection(("127.0.0.1", secure.port), timeout=PATIENCE_S) as client,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        ssl.create_default_context().wrap_socket(client, server_hostname="127.0.0.1")
    wait_until(lambda: caplog.messages)
    (line,) = caplog.messages
    assert "a handshake of TLS that failed. The client must trust the certificate" in line


def test_a_handshake_that_stalls(secure: Emulator) -> None:
    """Clients that connect and send nothing, or half a handshake, delay no other."""
    silent, half = (
        socket.create_connection(("127.0.0.1", secure.port), timeout=PATIENCE_S) for _ in range(2)
    )
    half.sendall(b"\x16\x03\x01\x00\xf4\x01")
    client = http.client.HTTPSConnection(
        "127.0.0.1", secure.port, timeout=PATIENCE_S, context=trusting(secure)
    )
    client.request("GET", "/health")
    assert client.getresponse().status == 200
    for one in (client, silent, half):
        one.close()


def test_files_that_are_no_certificate(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """A certificate that does not fit its key, or is missing, is an error that names the files."""
    with pytest.raises(ValueError, match=r"certificate\.pem and .*certificate\.pem are not a certificate"):
        Emulator(tls=(files[0], files[0]))
    with pytest.raises(ValueError, match=r"missing and .*No such file"):
        Emulator(tls=(tmp_path / "missing", files[1]))


def test_without_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package cryptography a certificate cannot be made, and the error says what to install."""
    monkeypatch.setattr(tls, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r'pip install "kinesis-emulator\[tls\]"'):
        Emulator(tls=True)


@pytest.mark.parametrize("given", [False, True])
def test_a_child_with_tls(
    files: tuple[Path, Path], given: bool, new_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child process speaks TLS, and names the certificate to trust."""
    with EmulatorProcess({"orders": 1}, tls=files if given else True) as emulator:
        assert emulator.certificate is not None
        monkeypatch.setenv("AWS_CA_BUNDLE", str(emulator.certificate))
        client = new_client(emulator.endpoint_url)
        assert client.list_streams()["StreamNames"] == ["orders"]
        client.close()


def test_the_command_says_what_to_trust() -> None:
    """The command prints the certificate, and the variables with which clients trust it."""
    command = [sys.executable, "-m", "kinesis_emulator", "--port", "0", "--tls"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first, second = child.stdout.readline(), child.stdout.readline()
        child.terminate()
        rest = child.stdout.read()
    assert first.startswith("kinesis-emulator listens on https://127.0.0.1:")
    trusted = second.removeprefix("  trust ").strip()
    for name in ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
        assert f"  export {name}={trusted}\n" in rest


def test_event_frames_are_whole(secure: Emulator) -> None:
    """Large events of a subscription come whole through TLS, also where the client is slower than the server."""
    for _ in range(3):
        secure.put("orders", bytes(1_000_000))
    slow = Http2Client(secure.port, trusting(secure, "h2"), window_bytes=2**24, buffer_bytes=4096)
    with slow as http2:
        stream = http2.call(
            "SubscribeToShard",
            ConsumerARN=secure.register_consumer("orders", "one"),
            ShardId=secure.shard_ids("orders")[0],
            StartingPosition={"Type": "TRIM_HORIZON"},
        )
        http2.wait(stream, lambda answer: len(answer.body) > 4_000_000)
        buffer = EventStreamBuffer()
        buffer.add_data(http2.answers[stream].body)
        assert {event.to_response_dict()["headers"][":message-type"] for event in buffer} == {
            "event"
        }  # their checksums are right
