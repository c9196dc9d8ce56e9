"""Events reach the standard library's logging with their facts. The loggers of all packages have the same form."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

import kinesis_core.logs
import kinesis_credentials.logs
from kinesis_credentials.logs import EventLogger

NAME = "kinesis_tests"

loggers = pytest.mark.parametrize(
    "get_logger", [kinesis_credentials.logs.get_logger, kinesis_core.logs.get_logger]
)
GetLogger = Callable[[str], EventLogger]


@loggers
def test_text_handlers_get_the_facts_in_the_message(
    get_logger: GetLogger, caplog: pytest.LogCaptureFixture
) -> None:
    """An event is one line with its name and all its facts, whatever characters they hold."""
    with caplog.at_level(logging.INFO):
        get_logger(NAME).info("shards.discovered", stream="100%s", count=4, left=None)
    assert caplog.messages == ["shards.discovered stream=100%s count=4 left=None"]


@loggers
def test_structured_handlers_get_the_facts_as_context(
    get_logger: GetLogger, caplog: pytest.LogCaptureFixture
) -> None:
    """A handler such as Spark's finds the facts under `context`, as text. Level and logger are those of the call."""
    with caplog.at_level(logging.INFO):
        get_logger(NAME).warning("data.lost", shard="shardId-000000000000", count=4)
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", NAME)
    assert record.__dict__["context"] == {"shard": "shardId-000000000000", "count": "4"}


@loggers
@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING"])
def test_each_level_has_a_method(get_logger: GetLogger, level: str, caplog: pytest.LogCaptureFixture) -> None:
    """An event is shown from its level on."""
    log = get_logger(NAME)
    method = getattr(log, level.lower())
    number = getattr(logging, level)
    for shown_from, is_shown in ((number, True), (number + 1, False)):
        caplog.clear()
        with caplog.at_level(shown_from, NAME):
            method("shard.read", shard="shardId-000000000000")
            assert log.is_enabled_for(number) is is_shown
        assert [record.levelname for record in caplog.records] == [level] * is_shown


@loggers
def test_a_level_that_is_off_costs_nothing(get_logger: GetLogger, caplog: pytest.LogCaptureFixture) -> None:
    """Facts of an event that is not shown are not even formatted."""

    class Unprintable:
        def __str__(self) -> str:
            raise AssertionError("it was formatted")

    with caplog.at_level(logging.WARNING):
        get_logger(NAME).info("shard.read", what=Unprintable())
    assert caplog.messages == []
