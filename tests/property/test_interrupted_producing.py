"""A lost answer, a late answer, and a stop of the process, at every call of a producer: a flush never says too much."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

import pytest
from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core.errors import PutError, ThrottledError, UnavailableError
from kinesis_core.model import PutEntry, PutResponse, Shard
from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.rows import Rows
from support.examples import examples
from support.fake_puts import Desk, FakePuts
from support.fake_stream import FakeClock

HOUR_S = 3_600.0
ROWS = 30


class Mishap(Enum):
    LOST = "the request is carried out, and there is no response"
    LATE = "the response comes after an hour"
    LATE_AND_LOST = "the request is carried out, and an hour later the connection breaks"
    NOT_SENT = "the request does not arrive"
    THROTTLED = "the whole request is throttled"
    STOPPED = "the process stands still for an hour before the request"
    STOPPED_AND_NOT_SENT = "the process stands still, and the request does not arrive"


@define
class Interrupted(FakePuts):
    """A stream of which some calls, counted from 0, have a mishap. The others take no time."""

    clock: FakeClock = field(factory=FakeClock)
    mishaps: dict[int, Mishap] = field(factory=dict)
    calls: int = 0

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:
        mishap = self._before()
        response = super().put_records(entries, with_results)
        self._after(mishap)
        return response

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:
        mishap = self._before()
        listed = super().list_shards(with_retries=with_retries, only_open=only_open)
        self._after(mishap)
        return listed

    def _before(self) -> Mishap | None:
        mishap = self.mishaps.get(self.calls)
        self.calls += 1
        if mishap in (Mishap.STOPPED, Mishap.STOPPED_AND_NOT_SENT):
            self.clock.sleep(HOUR_S)
        if mishap in (Mishap.NOT_SENT, Mishap.STOPPED_AND_NOT_SENT):
            raise UnavailableError("Could not connect.", "EndpointConnectionError")
        if mishap is Mishap.THROTTLED:
            raise ThrottledError("Rate exceeded.", "LimitExceededException")
        return mishap

    def _after(self, mishap: Mishap | None) -> None:
        if mishap in (Mishap.LATE, Mishap.LATE_AND_LOST):
            self.clock.sleep(HOUR_S)
        if mishap in (Mishap.LOST, Mishap.LATE_AND_LOST):
            raise UnavailableError("Read timed out.", "ReadTimeoutError")


def written(
    mishaps: dict[int, Mishap], *, aggregated: bool, reshards: bool = False
) -> tuple[Interrupted, Desk]:
    """
    Put and flush rows three times, with *mishaps* after the producer is opened, and check what each flush says.

    The first failure ends it.
    """
    puts = Interrupted()
    puts.create(3)
    desk = Desk.open(puts, ProducerSettings(aggregation_enabled=aggregated, aggregation_max_size=300))
    puts.clock, puts.calls, puts.mishaps = desk.clock, 0, mishaps
    for number in range(3):
        if reshards and number:
            puts.split(puts.open_shards()[0])
        numbers = range(number * ROWS, (number + 1) * ROWS)
        desk.put(Rows([b"%d" % n for n in numbers], [f"key-{n % 7}" for n in numbers]))
        desk.flush()
        if desk.accumulator.failure is not None:
            _check_error(desk, desk.accumulator.failure, (number + 1) * ROWS)
            break
        assert set(puts.copies()) == {b"%d" % n for n in range((number + 1) * ROWS)}
    return puts, desk


def _check_error(desk: Desk, error: PutError, put: int) -> None:
    """Check that *error* is right about how many of the *put* rows are missing, and may be there."""
    confirmed = desk.accumulator.counts.totals["user_records"]
    lost, others = sum(error.counts.values()), _number(r"(\d+) more user records may not be", error)
    unsure = _number(r"(\d+) of them may be in the stream", error)
    stored = len(desk.puts.copies())
    assert lost + others == put - confirmed == desk.accumulator.lost_records
    assert put - lost - others <= stored <= put - lost + unsure


def _number(pattern: str, error: PutError) -> int:
    found = re.search(pattern, str(error))
    return int(found.group(1)) if found else 0


@pytest.mark.parametrize("aggregated", [True, False])
@pytest.mark.parametrize("mishap", Mishap)
def test_one_mishap_at_every_call(mishap: Mishap, aggregated: bool) -> None:
    """Whichever call it meets, one mishap fails no flush, and each flush that returns has written everything."""
    calls = written({}, aggregated=aggregated, reshards=True)[0].calls
    assert calls >= 3
    for call in range(calls):
        _, desk = written({call: mishap}, aggregated=aggregated, reshards=True)
        assert desk.accumulator.failure is None


@settings(deadline=None, max_examples=examples(100))
@given(
    st.dictionaries(st.integers(0, 30), st.sampled_from(Mishap), max_size=25),
    st.booleans(),
    st.booleans(),
)
def test_many_mishaps(mishaps: dict[int, Mishap], aggregated: bool, reshards: bool) -> None:
    """Many mishaps in a row may be an outage. The error then counts what is missing, and what may be there all the same."""
    written(mishaps, aggregated=aggregated, reshards=reshards)


def test_an_outage_with_a_lost_response() -> None:
    """The error does not deny what the lost request has written."""
    _, desk = written({0: Mishap.LOST} | dict.fromkeys(range(1, 10_000), Mishap.NOT_SENT), aggregated=False)
    assert desk.accumulator.failure is not None
    lost = sum(desk.accumulator.failure.counts.values())
    assert f"{lost} of them may be in the stream" in str(desk.accumulator.failure)
