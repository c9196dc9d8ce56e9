"""Enhanced fan-out over HTTP/1.1 and HTTP/2, against the emulator, with every way in which a subscription can end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from kinesis_core import AccessDeniedError, At, TrimHorizon, UnavailableError
from kinesis_core.errors import ResourceInUseError, ServiceError
from kinesis_core.model import Record, ShardEnd
from kinesis_core.reading import FanOutSettings
from kinesis_emulator import EventFault, Fault
from support.certificates import make_certificate
from support.fan_out_core import RECORDS_PER_EVENT, SHARD, STREAM, Desk, desk
from support.loops import variants
from support.waiting import PATIENCE_S

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
"""A socket that the garbage collector closes is a warning, which pytest would otherwise not report as a failure."""

OpenDesk = Callable[..., AbstractContextManager[Desk]]
READ_TIMEOUT_S = 0.5
"""Ends a silent subscription."""
SILENCES = tuple(
    f"call.retried call=SubscribeToShard reason={error} " for error in ("ReadTimeoutError", "TimeoutError")
)
"""By HTTP/2 the error has another name."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(params=variants(["HTTP/1.1", "HTTP/2 stream", "HTTP/2 goaway", "HTTP/2 connection"], kept=2))
def open_desk(request: pytest.FixtureRequest, files: tuple[Path, Path]) -> OpenDesk:
    """Return a function that opens a desk. Over HTTP/2 the emulator breaks calls off in one of three ways."""
    protocol, _, broken = request.param.partition(" ")

    def call(read_timeout_s: float = PATIENCE_S) -> AbstractContextManager[Desk]:
        return desk(read_timeout_s) if protocol == "HTTP/1.1" else desk(read_timeout_s, files, broken)

    return call


@pytest.fixture
def at(open_desk: OpenDesk) -> Iterator[Desk]:
    with open_desk() as made:
        made.put(30)
        yield made
        made.wait_until_left()


def test_a_range_comes_through_one_subscription(at: Desk) -> None:
    """One subscription delivers what polling delivers, and its connection is closed at the end of the range."""
    records = at.apis.records()
    assert at.read(at.range(3, At(records[20].number))) == records[3:20]
    assert at.subscriptions() == 1
    at.wait_until_left()


def test_large_events(at: Desk) -> None:
    """Events of megabytes arrive complete, although they come in many pieces."""
    at.put(5, 1_000_000)
    assert at.read(at.range()) == at.apis.records()


def test_a_subscription_is_renewed_after_five_minutes(at: Desk) -> None:
    """After the five minutes of a subscription, the next one continues after its last event."""
    at.suffer(Fault(events=EventFault(after_events=2, pause_s=1000)))
    found: list[Record] = []
    pages = at.reader(at.range(), FanOutSettings(fallback_to_polling=False)).pages()
    for page in pages:
        found += page.records
        if len(found) == 2 * RECORDS_PER_EVENT:
            at.ticks.advance(300)
    assert found == at.apis.records()
    assert at.subscriptions() == 2


@pytest.mark.parametrize(
    "fault",
    [
        EventFault(after_events=2, cut=True),
        EventFault(after_events=2, code="InternalFailureException"),
        EventFault(after_events=2, code="ResourceInUseException"),
        EventFault(after_events=2, empty_events=3, cut=True),
        EventFault(cut=True),
    ],
)
def test_reading_continues_however_a_subscription_ends(at: Desk, fault: EventFault) -> None:
    """Nothing is lost or repeated, however often a subscription ends in the middle."""
    at.suffer(*[Fault(events=fault)] * 3)
    assert at.read(at.range()) == at.apis.records()
    assert at.subscriptions() == 4 if fault.after_events == 0 else 3


def test_silence_ends_a_subscription(open_desk: OpenDesk, caplog: pytest.LogCaptureFixture) -> None:
    """
    A silent connection is closed after the read timeout, and the shard is subscribed to again, once for each silence: a machine
    that stands still may be silent, too.
    """
    caplog.set_level("INFO", "kinesis_core")
    with open_desk(READ_TIMEOUT_S) as at:
        at.put(30)
        at.suffer(Fault(events=EventFault(after_events=2, silence=True)))
        assert at.read(at.range()) == at.apis.records()
        silences = [line for line in caplog.messages if line.startswith(SILENCES)]
        assert at.subscriptions() == 1 + len(silences) > 1
        at.wait_until_left()


def test_a_call_without_a_response(at: Desk) -> None:
    """Refusals and lost connections before the first event are retried like those after it."""
    at.suffer(
        Fault("InternalFailure", status=500),
        Fault(drop_request=True),
        Fault(drop_response=True, reset=True),
        Fault("LimitExceededException"),
        Fault("InternalFailure", status=500, cut_response=True),
    )
    assert at.read(at.range()) == at.apis.records()


@pytest.mark.parametrize("response", [b"<html>not Kinesis</html>", b"\0" * 100, b""])
def test_a_response_that_is_no_event_stream(at: Desk, response: bytes) -> None:
    """A good status with another body is not the end of a shard: the shard is subscribed to again."""
    at.suffer(Fault(status=200, body=response))
    assert at.read(at.range()) == at.apis.records()


def test_the_events_of_a_closed_shard_end(at: Desk) -> None:
    """The event that names the child shards ends the range without another subscription."""
    shard_range = at.range(0, ShardEnd())
    at.emulator.split(STREAM, SHARD)
    assert at.read(shard_range) == at.apis.records()
    at.ticks.advance(5)
    with closing(at.subscribing().subscribe(SHARD, TrimHorizon())) as events:
        *others, last = events
    assert [child["ShardId"] for child in last.child_shards or []] == at.emulator.shard_ids(STREAM)
    assert all(not page.is_shard_end for page in others)


def test_a_late_first_event(at: Desk) -> None:
    """A subscription is open when the call returns, even if its first event is late."""
    at.suffer(Fault(events=EventFault(pause_s=20)))
    with closing(at.subscribing().subscribe(SHARD, TrimHorizon())) as events:
        assert at.emulator.subscriptions(STREAM) == [("me", SHARD)]
        at.ticks.advance(20)
        assert next(events).records == at.apis.records()[:RECORDS_PER_EVENT]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InternalFailureException", UnavailableError),
        ("InternalFailure", UnavailableError),
        ("ResourceInUseException", ResourceInUseError),
        ("KMSAccessDeniedException", AccessDeniedError),
        ("SomethingNewException", ServiceError),
    ],
)
def test_an_error_among_the_events_is_readable(at: Desk, code: str, kind: type[ServiceError]) -> None:
    """The error has the service's code, message and request id, and our shard and consumer. It has no JSON."""
    at.suffer(Fault(events=EventFault(code=code, message="Try again later.")))
    message = rf"{code} \(status 200, request id \S{{36}}\): Try again later\. .*shard={SHARD} consumer=arn:"
    with pytest.raises(kind, match=message) as caught:
        list(at.subscribing().subscribe(SHARD, TrimHorizon()))
    assert caught.value.code == code
    assert "{" not in str(caught.value)


@pytest.mark.parametrize("events_read", [0, 1])
def test_closing_the_events_closes_the_connection(at: Desk, events_read: int) -> None:
    """Closing a subscription closes its socket, also before the first event."""
    events = at.subscribing().subscribe(SHARD, TrimHorizon())
    for _ in range(events_read):
        next(events)
    events.close()
    at.wait_until_left()
