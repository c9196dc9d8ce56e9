"""Shards that wait for room."""

from __future__ import annotations

from kinesis_consumer.worker.line import Line


def test_while_one_waits_no_other_takes_room() -> None:
    """Without a line anybody may go, and with one only the shard whose turn has come."""
    line = Line()
    assert line.may_go("a")
    line.wait("a")
    line.wait("b")
    assert not line.may_go("a")
    assert line.call(lambda key: key == "a") == ["a"]
    assert line.may_go("a")
    assert not line.may_go("c")


def test_one_that_finds_no_room_in_its_turn_stays_the_first() -> None:
    """Otherwise a shard with large pages would be overtaken again and again."""
    line = Line()
    for key in ("a", "b", "c"):
        line.wait(key)
    assert line.call(lambda key: key != "c") == ["a", "b"]
    line.wait("a")
    line.wait("c")
    assert line.call(lambda _: True) == ["a", "c"]


def test_who_leaves_keeps_nobody_waiting() -> None:
    """A shard that is read, or whose lease is lost, waits no longer, and has no turn left."""
    line = Line()
    line.wait("a")
    line.wait("b")
    line.leave("a")
    assert line.call(lambda _: True) == ["b"]
    line.leave("b")
    line.leave("b")
    line.wait("c")
    assert not line.may_go("b")
