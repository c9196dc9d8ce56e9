"""Polling reads exactly one range of one shard, whatever interrupts it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kinesis_core.errors import DataLossError
from kinesis_core.model import After, At, Page, Record, ShardEnd, ShardRange, TrimHorizon
from kinesis_core.model.cuts import EndCut
from kinesis_core.reading import PollingRangeReader, ReadSettings
from kinesis_core.shards import STALLED_PAGES
from support.one_shard import OneShard
from support.scripted_stream import ITERATOR_LIFE_S

SLOW = ReadSettings(max_records_per_fetch=10)
FORGIVING = ReadSettings(max_records_per_fetch=10, fail_on_data_loss=False)


@pytest.fixture
def one() -> OneShard:
    made = OneShard()
    made.put(100, 0.01)
    return made


def pages_of(
    one: OneShard, start: At | After, end: EndCut, settings: ReadSettings = SLOW, *, with_data: bool = True
) -> Iterator[Page]:
    reader = PollingRangeReader(lambda _: one.stream, settings, random.Random(0), with_data)
    return reader.read(ShardRange("orders", one.shard_id, start, end), one.stream.clock)


def read(one: OneShard, start: At | After, end: EndCut, settings: ReadSettings = SLOW) -> list[Record]:
    return [record for page in pages_of(one, start, end, settings) for record in page.records]


def number(one: OneShard, index: int) -> int:
    return one.records[index].number


# Where a range begins and ends


@pytest.mark.parametrize(("start", "first"), [(At, 20), (After, 21)])
@pytest.mark.parametrize(("end", "last"), [(At, 59), (After, 60)])
def test_a_range_is_read_to_the_record(
    one: OneShard, start: type[At | After], first: int, end: type[At | After], last: int
) -> None:
    """Each kind of start and end includes exactly its records: pages are cut to the range."""
    found = read(one, start(number(one, 20)), end(number(one, 60)))
    assert found == one.records[first : last + 1]


def test_a_closed_shard_is_read_to_its_end(one: OneShard) -> None:
    """A range up to the shard's end holds all records, those on the last page included."""
    one.stream.split(one.shard_id)
    assert read(one, At(number(one, 20)), ShardEnd()) == one.records[20:]


@pytest.mark.parametrize(("end", "calls"), [(After(0), 4), (At(0), 5)])
def test_no_call_is_made_after_the_end_is_seen(one: OneShard, end: At | After, calls: int) -> None:
    """Reading stops at the page with the end: after the last record, or at the first record outside the range."""
    last = 39 if isinstance(end, After) else 40
    read(one, At(number(one, 0)), type(end)(number(one, last)))
    assert len(one.stream.calls_of("GetRecords")) == calls
    assert len(one.stream.calls_of("GetShardIterator")) == 1


def test_a_page_outside_the_range_is_not_yielded(one: OneShard) -> None:
    """A page without a record of the range is not yielded."""
    pages = list(pages_of(one, At(number(one, 0)), At(number(one, 10))))
    assert [len(page.records) for page in pages] == [10]


def test_pages_of_a_size() -> None:
    """The records of a page show how many to ask for, so that the next one has about the size that is wanted."""
    one = OneShard()
    one.put(40, 0.01, data=b"x" * 1000)
    one.put(40, 0.01, data=b"x" * 100)
    everything = At(number(one, 0)), After(number(one, 79))
    pages = [len(page.records) for page in pages_of(one, *everything, ReadSettings(max_page_bytes=10_000))]
    assert pages == [1, 10, 10, 10, 10, 11, 28]
    assert read(one, *everything, ReadSettings(max_page_bytes=1)) == one.records


@given(st.integers(1, 10_000), st.floats(1, allow_nan=False), st.floats(0, 1e9))
def test_records_to_ask_for(most: int, page_bytes: float, record_bytes: float) -> None:
    """It is at least 1, at most what Kinesis or the user allows, and one more than fit whole."""
    settings = ReadSettings(max_records_per_fetch=most, max_page_bytes=page_bytes)
    count = settings.records_per_fetch(record_bytes)
    assert 1 <= count <= most
    assert count == 1 or (count - 1) * record_bytes <= page_bytes
    assert ReadSettings(max_records_per_fetch=most).records_per_fetch(record_bytes) == most


# Interruptions


def test_records_that_come_again_are_dropped(one: OneShard) -> None:
    """A record that the server repeats, on the same page or a later one, is delivered once."""
    one.stream.shards[one.shard_id].records[30:30] = one.records[15:30]
    wanted = one.records[:30] + one.records[45:]
    assert read(one, At(number(one, 0)), After(wanted[-1].number)) == wanted


# Gaps


def test_a_gap_in_the_range_is_crossed(one: OneShard) -> None:
    """Empty pages in the range are followed while they come closer to the tip, even more than `STALLED_PAGES`."""
    one.stream.gaps[one.shard_id, 50] = 3 * STALLED_PAGES
    assert read(one, At(number(one, 0)), After(number(one, 99))) == one.records


# ReadRateLimiter


def test_calls_keep_their_period(one: OneShard) -> None:
    """After a burst of two calls there is one call per period."""
    read(one, At(number(one, 0)), After(number(one, 99)))
    times = [call.at_s for call in one.stream.calls_of("GetRecords")]
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps[1:] == pytest.approx([0.2] * 8, abs=0.002)


def test_large_pages_keep_the_rate() -> None:
    """Bytes are read at the configured rate, whatever the period allows."""
    one = OneShard()
    one.put(40, 0.1, b"x" * 100_000)
    settings = ReadSettings(max_records_per_fetch=10, max_fetch_rate_bytes=500_000.0)
    started = one.stream.clock.now
    assert len(list(pages_of(one, At(number(one, 0)), After(number(one, 39)), settings))) == 4
    waited_s = one.stream.clock.now - started
    assert waited_s == pytest.approx(3 * 2.0, abs=0.01)  # no wait after the last page


def test_without_data_payloads_are_left_out(one: OneShard) -> None:
    """A caller that asks for no data gets every record without data."""
    pages = pages_of(one, At(number(one, 0)), After(number(one, 99)), with_data=False)
    found = [record for page in pages for record in page.records]
    assert [record.number for record in found] == [record.number for record in one.records]
    assert {record.data for record in found} == {b""}


# Data loss


def test_a_first_record_that_is_gone_is_an_error(one: OneShard) -> None:
    """A range whose first record expired fails. The error has the start, the oldest record left and the option."""
    one.stream.trim(one.shard_id, 25)
    gone, oldest = number(one, 20), number(one, 25)
    with pytest.raises(
        DataLossError,
        match=rf"records from AT {gone} expired.*oldest record left is {oldest}.*fail_on_data_loss=False",
    ):
        read(one, At(gone), After(number(one, 60)))
    assert read(one, At(gone), After(number(one, 60)), FORGIVING) == one.records[25:61]


def test_an_expired_last_record_is_an_error(one: OneShard) -> None:
    """A range whose last record expired fails. With fail_on_data_loss=False it is empty, and ends at once."""
    one.stream.trim(one.shard_id, 70)
    with pytest.raises(
        DataLossError,
        match=f"^Shard {one.shard_id} of orders: records up to AFTER .* expired before they were read .retention 24 h",
    ):
        read(one, After(number(one, 20)), After(number(one, 60)))
    assert read(one, After(number(one, 20)), After(number(one, 60)), FORGIVING) == []


@pytest.mark.parametrize("is_stuck", [False, True])
def test_a_range_that_expired_altogether_ends(one: OneShard, is_stuck: bool) -> None:
    """When no record of the shard is left, reading ends: with an error, or without records if loss is allowed."""
    one.stream.is_stuck_when_trimmed = is_stuck
    one.stream.trim(one.shard_id, 100)
    start, end = At(number(one, 20)), After(number(one, 60))
    with pytest.raises(DataLossError, match=r"made no progress.*fail_on_data_loss=False"):
        read(one, start, end)
    assert len(one.stream.calls_of("GetRecords")) <= STALLED_PAGES + 4
    assert read(one, start, end, FORGIVING) == []


def test_an_expired_start_continues_with_the_oldest_record(one: OneShard) -> None:
    """When a trimmed start gives empty pages for ever, the rest of the range is read from the oldest record."""
    one.stream.is_stuck_when_trimmed = True
    one.stream.trim(one.shard_id, 40)
    start, end = At(number(one, 20)), After(number(one, 60))
    with pytest.raises(DataLossError, match="made no progress"):
        read(one, start, end)
    assert read(one, start, end, FORGIVING) == one.records[40:61]
    assert one.stream.calls_of("GetShardIterator")[-1].cut == TrimHorizon()


def test_reading_goes_back_to_the_oldest_record_only_once(one: OneShard) -> None:
    """After the oldest record was read, a renewed iterator continues after the last record that was delivered."""
    one.stream.is_stuck_when_trimmed = True
    one.stream.trim(one.shard_id, 40)
    found: list[Record] = []
    for page in pages_of(one, At(number(one, 20)), After(number(one, 99)), FORGIVING):
        found += page.records
        one.stream.clock.sleep(ITERATOR_LIFE_S + 1)
    assert found == one.records[40:]
    starts = [call.cut for call in one.stream.calls_of("GetShardIterator")]
    assert starts.pop(starts.index(TrimHorizon())) == TrimHorizon(), "which shows that the start has expired"
    assert starts[starts.index(TrimHorizon()) + 1 :] == [After(number(one, i)) for i in range(49, 99, 10)]


def test_an_expired_shard_is_an_error(one: OneShard) -> None:
    """A range of a shard that Kinesis no longer knows fails, or is empty if loss is allowed."""
    start, end = At(number(one, 20)), After(number(one, 60))
    failing, forgiving = pages_of(one, start, end), pages_of(one, start, end, FORGIVING)
    del one.stream.shards[one.shard_id]
    with pytest.raises(DataLossError, match="no longer knows the shard"):
        list(failing)
    assert list(forgiving) == []


def test_a_shard_that_ends_before_the_range_is_an_error(one: OneShard) -> None:
    """A closed shard that ends without the range's last record has lost it."""
    one.stream.split(one.shard_id)
    start, end = At(number(one, 20)), After(number(one, 99) + 5)
    with pytest.raises(DataLossError, match=r"records up to AFTER .* expired"):
        read(one, start, end)
    assert read(one, start, end, FORGIVING) == one.records[20:]
