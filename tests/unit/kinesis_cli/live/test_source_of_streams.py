"""The list of streams for the screens of `kinesis top`, called over HTTP."""

from __future__ import annotations

import pytest

from kinesis_cli.stream_lines import StreamLine
from kinesis_core import AccessDeniedError, UnavailableError
from kinesis_emulator import Request
from unit.kinesis_cli.live.conftest import WatchedKinesis

NAMES = sorted(f"stream-{number:02d}" for number in range(25))


@pytest.fixture
def kinesis(kinesis: WatchedKinesis) -> WatchedKinesis:
    """Return a Kinesis with 25 streams."""
    kinesis.emulator.delete_stream("orders")
    for name in NAMES:
        kinesis.emulator.create_stream(name)
    return kinesis


def described(kinesis: WatchedKinesis) -> list[str]:
    return [line.name for line in kinesis.source.streams() if line.summary is not None]


def test_streams_are_described_by_and_by(kinesis: WatchedKinesis) -> None:
    """All streams are listed at once, and ten are described per call: an account may make 20 such calls a second."""
    lines = kinesis.source.streams()
    assert [line.name for line in lines] == NAMES
    assert [line.name for line in lines if line.summary is not None] == NAMES[:10]
    assert kinesis.emulator.calls.count("DescribeStreamSummary") == 10
    assert described(kinesis) == NAMES[:20]
    assert described(kinesis) == NAMES
    assert described(kinesis) == NAMES
    assert kinesis.emulator.calls.count("DescribeStreamSummary") == 25


def test_the_list_changes(kinesis: WatchedKinesis) -> None:
    """Half a minute later new streams are found, and described first; streams that are gone are not shown."""
    for _ in range(3):
        kinesis.source.streams()
    kinesis.emulator.create_stream("zebra", 3)
    kinesis.emulator.delete_stream(NAMES[0])
    assert kinesis.names_later() == [*NAMES[1:], "zebra"]
    (zebra,) = [line for line in kinesis.source.streams() if line.name == "zebra"]
    assert zebra.summary is not None
    assert zebra.summary.open_shards == 3


def test_a_stream_that_is_deleted_meanwhile(kinesis: WatchedKinesis) -> None:
    """A stream that is deleted between its listing and its description is no error. It is left out."""
    kinesis.source.streams()
    kinesis.emulator.delete_stream(NAMES[12])
    left = [name for name in NAMES if name != NAMES[12]]
    assert [line.name for line in kinesis.source.streams()] == left
    assert described(kinesis) == left


def test_a_stream_that_may_not_be_described(kinesis: WatchedKinesis) -> None:
    """Where a policy allows some streams only, the others have AWS's code, and are no error. It is looked at again later."""
    with kinesis.failing("AccessDeniedException", lambda request: request.stream_name == NAMES[3]):
        lines = kinesis.source.streams()
    assert lines[3] == StreamLine(NAMES[3], problem="AccessDeniedException")
    assert all(line.summary is not None for line in (*lines[:3], *lines[4:10]))
    for _ in range(2):
        kinesis.source.streams()
    kinesis.names_later()
    assert described(kinesis) == NAMES


def test_an_outage(kinesis: WatchedKinesis) -> None:
    """A call that may succeed later is an error, and streams that were not described are described later: no stream is forgotten."""

    def is_description(request: Request) -> bool:
        return request.action == "DescribeStreamSummary"

    with kinesis.failing("InternalFailure", is_description), pytest.raises(UnavailableError):
        kinesis.source.streams()
    for _ in range(3):
        lines = kinesis.source.streams()
    assert [line.name for line in lines if line.summary is not None] == NAMES


def test_one_stream_does_not_stop_the_others(kinesis: WatchedKinesis) -> None:
    """The streams of a call that failed wait until the others are described."""
    with kinesis.failing("InternalFailure", lambda request: request.stream_name == NAMES[3]):
        with pytest.raises(UnavailableError):
            kinesis.source.streams()
        assert described(kinesis) == NAMES[10:20]


def test_a_list_that_is_denied(kinesis: WatchedKinesis) -> None:
    """Without the permission to list streams each call is an error, until there is one."""
    kinesis.emulator.settings.deny = {"ListStreams"}
    for _ in range(2):
        with pytest.raises(AccessDeniedError, match="ListStreams"):
            kinesis.source.streams()
    kinesis.emulator.settings.deny = set()
    assert described(kinesis) == NAMES[:10]
