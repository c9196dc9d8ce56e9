"""AWS refuses keys in the middle of a run: they are renewed if the source has others."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kinesis_core.aws import Connection, RetryPolicy, StreamApi, StreamRef, stream_client
from kinesis_core.errors import AccessDeniedError, UnavailableError
from kinesis_core.model import TrimHorizon
from kinesis_credentials import AssumeRole, CredentialSpec, StaticKeys
from kinesis_emulator import Emulator, Limits, Settings
from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request
from support.callers import Callers
from support.key_services import KeyServices

ORDERS = StreamRef("orders")
BASE = StaticKeys("AKIABASE", "secret")
THREADS = 8
SHARD = "shardId-000000000000"


@pytest.fixture
def over() -> set[str]:
    """The access keys that AWS calls expired."""
    return set()


@pytest.fixture
def callers(over: set[str]) -> Callers:
    def refuse(request: Request) -> Fault | None:
        return Fault("ExpiredTokenException", "It is over.") if request.access_key in over else None

    return Callers(refuse)


@pytest.fixture
def emulator(callers: Callers) -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited(), fault=callers)) as running:
        running.create_stream("orders")
        yield running


@pytest.fixture
def role(services: KeyServices) -> AssumeRole:
    services.name_key = lambda asked: f"ASIA{asked.number}"
    return AssumeRole(BASE, "arn:aws:iam::123456789012:role/reader", "tests", sts_endpoint_url=services.url)


def open_orders(emulator: Emulator, spec: CredentialSpec) -> StreamApi:
    connection = Connection((ORDERS,), "us-east-1", emulator.endpoint_url, spec, RetryPolicy(max_retries=0))
    return stream_client(connection, ORDERS)


def test_other_keys(
    emulator: Emulator,
    callers: Callers,
    over: set[str],
    role: AssumeRole,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The role is assumed again and the call is repeated, which uses none of the user's retries. The log has it."""
    caplog.set_level("INFO", "kinesis_core")
    api = open_orders(emulator, role)
    api.describe()
    over.add("ASIA1")
    api.describe()
    assert [call.access_key for call in callers.calls] == ["ASIA1", "ASIA1", "ASIA2"]
    (line,) = caplog.messages
    assert line.startswith("call.retried call=DescribeStreamSummary reason=ExpiredTokenException attempt=1 ")


def test_other_keys_of_repeated_calls(
    emulator: Emulator, callers: Callers, over: set[str], role: AssumeRole
) -> None:
    """Calls that bypass the client renew refused keys too, through the client."""
    api = open_orders(emulator, role)
    for ended in (set[str](), {"ASIA1"}):
        over |= ended
        for _ in range(3):
            api.get_iterator(SHARD, TrimHorizon())
    assert [call.access_key for call in callers.calls] == ["ASIA1"] * 5 + ["ASIA2"] * 3


def test_threads(emulator: Emulator, services: KeyServices, over: set[str], role: AssumeRole) -> None:
    """Threads whose calls are refused at the same time share one renewal."""
    api = open_orders(emulator, role)
    api.describe()
    over.add("ASIA1")
    described: list[str] = []
    threads = [threading.Thread(target=lambda: described.append(api.describe().name)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert described == ["orders"] * THREADS
    assert len(services.asked) == 2


def test_keys_that_were_given(emulator: Emulator, callers: Callers, over: set[str]) -> None:
    """Explicit keys cannot be renewed: the call is made once, and the error names the specs that refresh."""
    over.add(BASE.access_key_id)
    with pytest.raises(AccessDeniedError, match="StaticKeys are never refreshed"):
        open_orders(emulator, BASE).describe()
    assert len(callers.calls) == 1


def test_source_that_has_no_more(
    emulator: Emulator, services: KeyServices, over: set[str], role: AssumeRole
) -> None:
    """When the role is no longer allowed, the error has that, and the call that needed it."""
    api = open_orders(emulator, role)
    over.add("ASIA1")
    said = "Kinesis DescribeStreamSummary failed because it has no valid credentials. STS AssumeRole for .* failed"
    services.refusal = "AccessDenied"
    with pytest.raises(AccessDeniedError, match=said) as caught:
        api.describe()
    assert caught.value.code == "AccessDenied"
    assert "stream=orders" in str(caught.value)


def test_source_that_is_down(
    emulator: Emulator, services: KeyServices, over: set[str], role: AssumeRole
) -> None:
    """When STS is down for a moment, the error is one that planner and readers retry."""
    api = open_orders(emulator, role)
    over.add("ASIA1")
    services.refusal = "InternalFailure"
    with pytest.raises(UnavailableError, match="InternalFailure"):
        api.describe()
