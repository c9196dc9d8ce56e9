"""The start of a query over several streams."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kinesis_core.errors import StreamNotFoundError
from kinesis_emulator import Emulator, Fault, Request
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.planner_factory import CHECKS, check_streams
from support.streams import KEY_ID, REGION, SECRET
from support.waiting import PATIENCE_S

NAMES = [f"orders-{number}" for number in range(CHECKS)]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


def options_of(emulator: Emulator) -> SourceOptions:
    given = {"streamName": ",".join(NAMES), "endpointUrl": emulator.endpoint_url, "region": REGION}
    return SourceOptions.parse({**given, "awsAccessKeyId": KEY_ID, "awsSecretKey": SECRET})


def test_streams_are_checked_at_the_same_time(emulator: Emulator) -> None:
    """The first call on each stream waits for no other stream."""
    everyone = threading.Barrier(CHECKS)

    def wait_for_all(request: Request) -> Fault | None:
        if request.action == "DescribeStreamSummary":
            everyone.wait(PATIENCE_S)
        return None

    for name in NAMES:
        emulator.create_stream(name, 1)
    emulator.settings.fault = wait_for_all
    check_streams(options_of(emulator).connection)
    assert emulator.calls.count("DescribeStreamSummary") == CHECKS


def test_the_first_error_in_the_order_of_the_streams_is_raised(emulator: Emulator) -> None:
    """Of several streams that do not exist, the error names the one that comes first in the option."""
    for name in NAMES[:2]:
        emulator.create_stream(name, 1)
    with pytest.raises(StreamNotFoundError, match=NAMES[2]):
        check_streams(options_of(emulator).connection)
