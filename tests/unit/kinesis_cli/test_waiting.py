"""A command says what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from attrs import define, evolve, field

from kinesis_cli.connecting import ConnectWithTables
from kinesis_cli.waiting import SILENT_S, FirstResponse, note_silence
from kinesis_core import KinesisError, ProducerSettings, ServiceError
from kinesis_core.aws import Connection, RetryPolicy, StreamRef, stream_client
from kinesis_core.leases import open_table
from kinesis_credentials import Profile, StaticKeys
from kinesis_emulator import Emulator, Fault, FaultScript, Settings, Step
from support.ports import refusing_port


@define
class Watched:
    """The watchers of the services that are called, without threads."""

    said: list[str] = field(factory=list)
    made: list[FirstResponse] = field(factory=list)
    started: list[Callable[[], None]] = field(factory=list)

    def make(self) -> FirstResponse:
        self.made.append(FirstResponse(self.said.append, self.started.append))
        return self.made[-1]

    def time_is_over(self) -> list[str]:
        """Return what is said when the time for the first response is over."""
        for watcher in self.made:
            if watcher.url:
                watcher.watch(no_longer(watcher))
        return self.said


def no_longer(watcher: FirstResponse) -> Callable[[float], bool]:
    """Return a wait for the response to *watcher* that is over at once."""
    return lambda _: watcher.is_there.is_set()


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def refusing() -> Iterator[str]:
    """An endpoint at which nobody listens."""
    with refusing_port() as port:
        yield f"http://127.0.0.1:{port}"


def connection_to(endpoint_url: str) -> Connection:
    """Return a connection without retries. Each test has other keys, so that none has the session of another one."""
    keys = StaticKeys(f"key-of-{endpoint_url}", "secret")
    refs = (StreamRef.parse("orders"),)
    return Connection(refs, "us-east-1", endpoint_url, keys, RetryPolicy(max_retries=0))


def call(connection: Connection) -> None:
    """Make a call."""
    stream_client(connection, connection.streams[0]).describe()


def test_a_service_that_responds(watched: Watched) -> None:
    """Nothing is said, also if the response is an error: the error will be shown."""
    with Emulator() as emulator:
        connection = connection_to(emulator.endpoint_url)
        note_silence(connection, watched.make)
        with pytest.raises(KinesisError):
            call(connection)
        assert len(watched.started) == 1
        assert watched.time_is_over() == []


def test_nobody_listens(watched: Watched, refusing: str) -> None:
    """The endpoint and the reason are said."""
    connection = connection_to(refusing)
    note_silence(connection, watched.make)
    for _ in range(2):
        with pytest.raises(ServiceError):
            call(connection)
    assert watched.time_is_over() == [
        f"{refusing}/ does not respond: EndpointConnectionError; trying again. Ctrl-C ends."
    ]


def test_a_second_endpoint(watched: Watched, refusing: str) -> None:
    """One that does not respond is named although another one did, which has the same credentials."""
    with Emulator() as emulator:
        emulator.create_stream("orders", 1)
        first = connection_to(emulator.endpoint_url)
        second = evolve(first, endpoint_url=refusing)
        for connection in (first, second):
            note_silence(connection, watched.make)
        call(first)
        with pytest.raises(ServiceError):
            call(second)
    assert watched.time_is_over() == [
        f"{refusing}/ does not respond: EndpointConnectionError; trying again. Ctrl-C ends."
    ]


def test_a_lease_table(watched: Watched, refusing: str) -> None:
    """DynamoDB is watched as well, with clients of its own."""
    connection = evolve(connection_to(refusing), streams=())
    note_silence(connection, watched.make)
    with pytest.raises(ServiceError):
        list(open_table(connection, "etl", refusing).scan())
    assert watched.time_is_over() == [
        f"{refusing}/ does not respond: EndpointConnectionError; trying again. Ctrl-C ends."
    ]


def test_a_broken_server(watched: Watched) -> None:
    """An error that is retried is no response."""
    broken = Step(Fault(code="InternalFailure", status=500), "DescribeStreamSummary", times=None)
    with Emulator(settings=Settings(fault=FaultScript(broken))) as emulator:
        connection = connection_to(emulator.endpoint_url)
        note_silence(connection, watched.make)
        with pytest.raises(ServiceError):
            call(connection)
        assert watched.time_is_over() == [
            f"{emulator.endpoint_url}/ does not respond: HTTP status 500; trying again. Ctrl-C ends."
        ]


def test_nothing_has_happened(watched: Watched) -> None:
    """A call that has neither failed nor brought a response still waits."""
    first = watched.make()
    first.called(params={"url": "https://kinesis/"})
    waited_s: list[float] = []

    def wait(seconds: float) -> bool:
        waited_s.append(seconds)
        return False

    first.watch(wait)
    assert waited_s == [SILENT_S]
    assert watched.said == ["https://kinesis/ has not responded yet. Ctrl-C ends."]


def test_a_profile_that_does_not_exist(watched: Watched) -> None:
    """It is no error here. The first call reports it."""
    note_silence(evolve(connection_to("http://127.0.0.1:1"), credentials=Profile("none")), watched.make)
    assert watched.started == []


def test_every_connection_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way a command connects, it says what it waits for."""
    seen: list[Connection] = []
    monkeypatch.setattr("kinesis_cli.connecting.note_silence", seen.append)
    for name, value in (("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")):
        monkeypatch.setenv(name, value)
    with Emulator() as emulator:
        emulator.create_stream("orders", 1)
        connect = ConnectWithTables(region="us-east-1", endpoint_url=emulator.endpoint_url)
        ways: tuple[Callable[[], object], ...] = (
            lambda: connect.to("orders"),
            connect.to_account,
            lambda: connect.open("orders").close(),
            lambda: connect.open_producer("orders", ProducerSettings()).close(),
        )
        for count, make in enumerate(ways):
            make()
            assert len(seen) == count + 1
