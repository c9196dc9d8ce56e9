"""Enhanced fan-out over HTTP/2: connections, certificates, proxies and servers without HTTP/2."""

from __future__ import annotations

import select
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

import pytest
from attrs import define, field

from kinesis_core import TrimHorizon, UnavailableError
from kinesis_emulator import Emulator, EventFault, Fault
from support.certificates import make_certificate
from support.fan_out_core import REGION, SHARD, STREAM, Apis, Desk, Http2Connections, connect, desk
from support.halves import payloads, plan, streaming
from support.ports import refusing_port
from support.waiting import wait_until


@define
class Tunnels:
    """A tunnelling proxy; a context manager. Clients need `user:password`."""

    login: str = "user:pass%word"
    opened: list[str] = field(factory=list, init=False)
    refused: list[str] = field(factory=list, init=False)
    _server: ThreadingHTTPServer = field(init=False)

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> Tunnels:
        tunnels = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                tunnels._open(self)

            def log_message(self, format: str, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _open(self, asked: BaseHTTPRequestHandler) -> None:
        wanted = "Basic " + b64encode(self.login.encode()).decode()
        if asked.headers["Proxy-Authorization"] != wanted:
            self.refused.append(asked.path)
            asked.send_error(407)
            return
        self.opened.append(asked.path)
        host, _, port = asked.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            asked.send_response(200)
            asked.end_headers()
            _pass_on(asked.connection, there)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Copy between two sockets until one of them is closed."""
    while True:
        for ready in select.select([one, other], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (other if ready is one else one).sendall(data)


pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
"""A socket that the garbage collector closes is a warning, which pytest would otherwise not report as a failure."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def at(files: tuple[Path, Path]) -> Iterator[Desk]:
    with desk(files=files) as made:
        made.put(30)
        yield made
        made.wait_until_left()


def test_each_subscription_has_a_connection(at: Desk) -> None:
    """Each subscription has its own HTTP/2 connection, which is closed when the subscription ends or is refused."""
    at.suffer(Fault(events=EventFault(after_events=2, cut=True)), Fault("LimitExceededException"))
    assert at.read(at.range()) == at.apis.records()
    assert at.http2.calls == [1, 1, 1]


def test_two_subscriptions_do_not_share(at: Desk) -> None:
    """Two open subscriptions use two connections, so neither waits for the other."""
    at.emulator.split(STREAM, SHARD)
    subscriptions = [
        at.subscribing().subscribe(shard, TrimHorizon()) for shard in at.emulator.shard_ids(STREAM)
    ]
    assert (at.http2.open, at.http2.calls) == ([1, 1], [1, 1])
    for events in subscriptions:
        events.close()


def test_events_larger_than_the_window(at: Desk) -> None:
    """Flow control lets events through that are larger than the window."""
    at.put(20, 1_000_000)  # five in each event, and a window of 16 MiB for all of them
    assert at.read(at.range()) == at.apis.records()


def test_a_server_without_http2(files: tuple[Path, Path]) -> None:
    """If the server does not offer HTTP/2, the same client reads over HTTP/1.1."""
    with desk(files=files, http2=False) as at:
        at.put(30)
        at.suffer(Fault(events=EventFault(after_events=2, cut=True)))
        assert at.read(at.range()) == at.apis.records()
        assert at.http2.calls == []
        at.wait_until_left()
        wait_until(lambda: len(at.emulator.connections()) == 1)  # it polls


def test_an_unknown_certificate(at: Desk, tmp_path: Path) -> None:
    """The client sends nothing to a server with an untrusted certificate. The error says so."""
    other, _ = make_certificate(tmp_path)
    apis = Apis(connect(at.emulator.endpoint_url, certificate=other), STREAM, None, at.clock)
    with pytest.raises(UnavailableError, match="certificate"):
        apis.subscribing(at.consumer).subscribe(SHARD, TrimHorizon())
    assert at.subscriptions() == 0


def test_nobody_listens(at: Desk, files: tuple[Path, Path]) -> None:
    """An endpoint that cannot be reached is an error that may pass, with what to check."""
    with refusing_port() as port:
        apis = Apis(connect(f"https://127.0.0.1:{port}", certificate=files[0]), STREAM, None, at.clock)
        refused = rf"127\.0\.0\.1:{port}.*refused.*Check endpoint_url"
        with pytest.raises(UnavailableError, match=refused) as caught:
            apis.subscribing(at.consumer).subscribe(SHARD, TrimHorizon())
    assert caught.value.retryable


@pytest.mark.parametrize("password", ["pass%25word", "wrong"])
def test_a_proxy_is_used(
    at: Desk, files: tuple[Path, Path], password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP/2 uses the proxy that botocore would use, with its user and password. No error shows them."""
    with Tunnels() as tunnels:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:{password}@127.0.0.1:{tunnels.port}")
        api = Apis(
            connect(at.emulator.endpoint_url, certificate=files[0]), STREAM, None, at.clock
        ).subscribing(at.consumer)
        if password == "wrong":
            with pytest.raises(UnavailableError, match="ProxyError") as caught:
                api.subscribe(SHARD, TrimHorizon())
            assert "wrong" not in str(caught.value)
        else:
            events = api.subscribe(SHARD, TrimHorizon())
            assert next(events).records
            events.close()
        target = at.emulator.endpoint_url.removeprefix("https://")
        assert (tunnels.opened, tunnels.refused) == (
            ([], [target]) if password == "wrong" else ([target], [])
        )


def test_the_source_subscribes_by_http2(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """With `fanOutTransport` the tasks of a query subscribe by HTTP/2, and trust the certificates that botocore trusts."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(files[0]))
    with Emulator(tls=files) as emulator:
        emulator.create_stream(STREAM)
        http2 = Http2Connections(emulator)
        emulator.settings.fault = http2.note
        sent = [emulator.put(STREAM, b"%d" % i).data for i in range(20)]  # few enough for one batch
        options = {
            "streamName": STREAM,
            "region": REGION,
            "endpointUrl": emulator.endpoint_url,
            "awsAccessKeyId": "AKIAEXAMPLE",
            "awsSecretKey": "example-secret",
            "startingPosition": "TRIM_HORIZON",
            "consumerType": "SubscribeToShard",
            "fanOutTransport": "HTTP/2",
            "fanOutFallback": "false",
            "inlineRecords": "false",
        }
        with streaming(options) as reader:
            partitions, _ = plan(reader)
            assert payloads(reader, partitions) == sent
        assert http2.calls == [1, 1]  # one of them checks the permission
