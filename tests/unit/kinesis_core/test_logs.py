"""Events reach the standard library's logging with their facts."""

from __future__ import annotations

import logging

import pytest

from kinesis_core.logs import get_logger


def test_text_handlers_get_the_facts_in_the_message(caplog: pytest.LogCaptureFixture) -> None:
    """An event is one line with its name and all its facts, whatever characters they hold."""
    with caplog.at_level(logging.INFO):
        get_logger("kinesis_core").info("shards.discovered", stream="100%s", count=4)
    assert caplog.messages == ["shards.discovered stream=100%s count=4"]


def test_structured_handlers_get_the_facts_as_context(caplog: pytest.LogCaptureFixture) -> None:
    """Handlers such as Spark's find the facts under `context`, and the level survives."""
    with caplog.at_level(logging.INFO):
        get_logger("kinesis_core").warning("data.lost", shard="shardId-000000000000")
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "kinesis_core")
    assert record.__dict__["context"] == {"shard": "shardId-000000000000"}


def test_levels_are_those_of_logging(caplog: pytest.LogCaptureFixture) -> None:
    """What the user's logging configuration turns off is not even formatted."""

    class Unprintable:
        def __str__(self) -> str:
            raise AssertionError("it was formatted")

    with caplog.at_level(logging.WARNING):
        get_logger("kinesis_core").info("shard.read", what=Unprintable())
    assert caplog.messages == []
