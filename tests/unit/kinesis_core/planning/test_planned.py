"""The events of plans: one line for each batch, no line for other plans, and one for each renewed iterator."""

from __future__ import annotations

import logging
from itertools import islice

import pytest

from kinesis_core import Stream
from kinesis_core.model import After, Latest
from kinesis_core.planning import BatchGate, Limits, PlanAhead, PlanSettings
from kinesis_core.reading import ReadSettings
from support.one_shard import OneShard
from support.planned import Planned
from support.scripted_stream import ITERATOR_LIFE_S, ScriptedStream, scripted_stream
from unit.kinesis_core.slow_planner import Driver

A, B, C = (f"shardId-{i:012d}" for i in range(3))


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines of the event since this was called last."""
    found = [message for message in caplog.messages if message.startswith("batch.planned ")]
    caplog.clear()
    return found


def filled_stream(name: str = "orders") -> ScriptedStream:
    """Return a stream of three shards, two of which have records."""
    stream = scripted_stream(3)
    stream.name = name
    for shard_id in (A, B):
        stream.put_many(shard_id, 10)
    return stream


def ahead_of(query: Planned, min_records: int = 0) -> PlanAhead:
    return PlanAhead(BatchGate(query.planner, min_records, 10.0, query.clock), query.clock)


def test_a_batch_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """It names the stream, how many shards the batch reads, how long the plan took, and how far behind it was."""
    caplog.set_level(logging.INFO)
    query = Planned([filled_stream()], settings=PlanSettings(Limits(max_records=5)))
    plans = ahead_of(query)
    query.clock.sleep(30)
    plans.next_offset(query.start)
    [line] = lines(caplog)
    words = dict(word.split("=") for word in line.split()[1:])
    assert (words["stream"], words["shards"]) == ("orders", "2")
    assert float(words["duration_s"]) == round(query.planner.last_plan.planning_s, 3)
    assert int(words["lag_ms"]) == max(query.planner.lag_ms()["orders"].values()) > 0


def test_an_idle_stream_has_no_line(caplog: pytest.LogCaptureFixture) -> None:
    """Plans that find nothing new are not logged, at no level."""
    caplog.set_level(logging.DEBUG)
    query = Planned([filled_stream()], Latest())
    plans = ahead_of(query)
    caplog.clear()
    for _ in range(20):
        assert plans.next_offset(query.start) is query.start
    assert caplog.messages == []


def test_an_empty_batch_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """A batch that keeps the checkpoint fresh reads no shard, and says so."""
    caplog.set_level(logging.INFO)
    query = Planned([scripted_stream(1)], Latest())
    plans = ahead_of(query)
    start = query.start
    while (end := plans.next_offset(start)) is start:
        query.clock.sleep(3600)
    assert [line.split()[2] for line in lines(caplog)] == ["shards=0"]
    assert end != start


def test_streams_are_named_where_they_have_news(caplog: pytest.LogCaptureFixture) -> None:
    """A plan over several streams is one line with the names of those that the batch reads, or keeps fresh."""
    caplog.set_level(logging.INFO)
    streams = [filled_stream("orders"), filled_stream("payments"), filled_stream("teas")]
    query = Planned([*streams], Latest())
    plans = ahead_of(query)
    start = plans.next_offset(query.start)
    for stream in streams[:2]:
        stream.put_many(C, 1)
    caplog.clear()
    while plans.next_offset(start) is start:
        query.clock.sleep(1)
    assert [line.split()[1:3] for line in lines(caplog)] == [["stream=orders,payments", "shards=2"]]


def test_a_batch_that_is_held_back_has_no_line(caplog: pytest.LogCaptureFixture) -> None:
    """A gate plans the same batch several times; the line comes when it lets one through."""
    caplog.set_level(logging.INFO)
    stream = filled_stream()
    query = Planned([stream])
    plans = ahead_of(query, min_records=100)
    start = plans.next_offset(query.start)
    stream.put_many(A, 1)
    caplog.clear()
    plans_made = 1
    while plans.next_offset(start) is start:
        assert lines(caplog) == []
        plans_made += 1
    assert plans_made > 3
    assert len(lines(caplog)) == 1


def test_a_plan_made_ahead_is_a_line_when_it_is_handed_out(caplog: pytest.LogCaptureFixture) -> None:
    """A plan that becomes old before it is asked for is made again, and is one line in all."""
    caplog.set_level(logging.INFO)
    driver = Driver()
    driver.settle()
    driver.planner.tip = 30
    caplog.clear()
    driver.process()
    assert lines(caplog) == []
    driver.clock.sleep(60)
    driver.planner.tip = 40
    driver.ask()
    assert lines(caplog) == ["batch.planned stream=orders shards=0 duration_s=1.0 lag_ms=40"]


def test_plain_python(caplog: pytest.LogCaptureFixture) -> None:
    """Each batch of `follow` is a line, and so is that of `read`, unless nothing is new."""
    caplog.set_level(logging.INFO)
    fake = filled_stream()
    settings = PlanSettings(Limits(max_records=5))
    stream = Stream("orders", "eu-west-1", "orders", fake, settings, ReadSettings(), fake.clock)
    batches = list(islice(stream.follow("TRIM_HORIZON"), 2))
    assert len(lines(caplog)) == len(batches) == 2
    whole = stream.read("TRIM_HORIZON")
    assert [line.split()[2] for line in lines(caplog)] == ["shards=2"]
    stream.read(whole.offset)
    assert lines(caplog) == []


def test_a_renewed_iterator_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """A kept iterator that expired between two plans is a retry, and the line after that says where reading continues."""
    one = OneShard()
    [record] = one.put(1)
    one.state.calls.stream = "orders"
    cut = After(record.number)
    with caplog.at_level(logging.DEBUG, "kinesis_core"):
        one.state.next_page(cut, 1)
        assert caplog.messages == []
        one.stream.clock.sleep(ITERATOR_LIFE_S + 1)
        one.state.next_page(cut, 1)
    retry, renewal = caplog.messages
    assert retry.startswith("call.retried call=GetRecords reason=ExpiredIteratorException ")
    assert renewal == f"iterator.renewed stream=orders shard={one.shard_id} cut={cut}"
