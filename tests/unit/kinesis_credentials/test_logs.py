"""
Events reach the standard library's logging with their facts. KINESIS_LOG_LEVEL shows them on the standard error as well;
without it logging is left to the application.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import re
import subprocess
import sys

import pytest

from kinesis_credentials import Advice
from kinesis_credentials.base import KinesisError
from kinesis_credentials.logs import get_logger

PROGRAM = """
import contextlib, io
with contextlib.redirect_stderr(io.StringIO()):
    from kinesis_credentials.logs import get_logger
    get_logger("kinesis_core")
    log = get_logger("kinesis_core")
    log.debug("shard.read", shard="a")
    log.info("batch.planned", lag_ms=0)
    log.warning("data.lost", shard="a")
"""
EVENTS = {"DEBUG": "shard.read shard=a", "INFO": "batch.planned lag_ms=0", "WARNING": "data.lost shard=a"}


def shown(level: str | None) -> list[str]:
    """Return the lines that a new process writes to its standard error, without their times."""
    environment = {key: value for key, value in os.environ.items() if key != "KINESIS_LOG_LEVEL"}
    if level is not None:
        environment["KINESIS_LOG_LEVEL"] = level
    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return [re.sub(r"^[\d-]+ [\d:,]+ ", "", line) for line in done.stderr.splitlines()]


def test_text_handlers_get_the_facts_in_the_message(caplog: pytest.LogCaptureFixture) -> None:
    """An event is one line with its name and all its facts, whatever characters they hold."""
    with caplog.at_level(logging.INFO):
        get_logger("tests.kinesis").info("shards.discovered", stream="100%s", count=4, left=None)
    assert caplog.messages == ["shards.discovered stream=100%s count=4 left=None"]


def test_structured_handlers_get_the_facts_as_context(caplog: pytest.LogCaptureFixture) -> None:
    """A handler such as Spark's finds the facts under `context`, as text. Level and logger are those of the call."""
    with caplog.at_level(logging.INFO):
        get_logger("tests.kinesis").warning("data.lost", shard="shardId-000000000000", count=4)
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "tests.kinesis")
    assert record.__dict__["context"] == {"shard": "shardId-000000000000", "count": "4"}


def test_errors_are_shown_without_advice(caplog: pytest.LogCaptureFixture) -> None:
    """An error says what happened and where. What to do has other words at each front door, and a log has no front door."""
    error = KinesisError("The profile is unknown.", advice=Advice.ADD_PROFILE, profile="etl")
    get_logger("tests.kinesis").warning("credentials.kept", reason=error)
    assert caplog.messages == ["credentials.kept reason=The profile is unknown. [profile=etl]"]


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING"])
def test_each_level_has_a_method(level: str, caplog: pytest.LogCaptureFixture) -> None:
    """An event is shown from its level on."""
    log = get_logger("tests.kinesis")
    method = getattr(log, level.lower())
    number = getattr(logging, level)
    for shown_from, is_shown in ((number, True), (number + 1, False)):
        caplog.clear()
        with caplog.at_level(shown_from, "tests.kinesis"):
            method("shard.read", shard="shardId-000000000000")
            assert log.is_enabled_for(number) is is_shown
        assert [record.levelname for record in caplog.records] == [level] * is_shown


def test_a_level_that_is_off_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Facts of an event that is not shown are not even formatted."""

    class Unprintable:
        def __str__(self) -> str:
            raise AssertionError("it was formatted")

    with caplog.at_level(logging.WARNING):
        get_logger("tests.kinesis").info("shard.read", what=Unprintable())
    assert caplog.messages == []


@pytest.mark.tests
@pytest.mark.parametrize(
    ("level", "levels"),
    [
        ("DEBUG", ("DEBUG", "INFO", "WARNING")),
        ("info", ("INFO", "WARNING")),
        ("WARNING", ("WARNING",)),
        ("CRITICAL", ()),
        (" debug ", ("DEBUG", "INFO", "WARNING")),
    ],
)
def test_levels(level: str, levels: tuple[str, ...]) -> None:
    """
    Events from the level on are shown once each, with level and logger. They are also shown while something else collects what
    the program prints, as Spark does.
    """
    assert shown(level) == [f"{name} kinesis_core {EVENTS[name]}" for name in levels]


@pytest.mark.tests
@pytest.mark.parametrize("level", ["loud", "off", "0", "NOTSET"])
def test_no_level(level: str) -> None:
    """What is no level has no effect, and a line names the levels."""
    lines = shown(level)
    assert len(set(lines)) == 1
    assert lines[0].startswith(
        f"KINESIS_LOG_LEVEL is '{level.upper()}', which has no effect. Use DEBUG, INFO, WARNING"
    )


def test_the_application_sees_what_it_has_always_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level above that of the application hides nothing from its own handlers."""
    seen = logging.handlers.BufferingHandler(100)
    logger = logging.getLogger("tea")
    logger.setLevel(logging.INFO)
    logger.addHandler(seen)
    monkeypatch.setenv("KINESIS_LOG_LEVEL", "ERROR")
    get_logger("tea").info("batch.planned")
    assert [record.getMessage() for record in seen.buffer] == ["batch.planned"]


def test_logging_that_is_configured_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level above the one that the application chooses later hides nothing either."""
    monkeypatch.setenv("KINESIS_LOG_LEVEL", "ERROR")
    log = get_logger("pot.tea")
    assert not log.is_enabled_for(logging.INFO)
    logging.getLogger("pot").setLevel(logging.INFO)
    assert log.is_enabled_for(logging.INFO)


@pytest.mark.parametrize("level", ["INFO", "loud"])
def test_no_standard_error(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without a console can be asked for events as well."""
    monkeypatch.setenv("KINESIS_LOG_LEVEL", level)
    monkeypatch.setattr(sys, "__stderr__", None)
    monkeypatch.setattr(sys, "stderr", None)
    get_logger(f"cup.{level}").warning("data.lost")


@pytest.mark.tests
@pytest.mark.parametrize("level", [None, ""])
def test_not_asked(level: str | None) -> None:
    """Without the variable no handler is added: Python shows warnings by itself, here to the stream that collects them."""
    assert shown(level) == []
