"""The hints for users of Spark's Kafka source and sink."""

from __future__ import annotations

import re

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.options import KAFKA_HINTS, OptionTable
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

NAMES = [name.replace("*", "max.poll.records") for hint in KAFKA_HINTS for name in hint.names]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("table", [SOURCE_OPTIONS, SINK_OPTIONS], ids=["source", "sink"])
def test_every_name(table: OptionTable, name: str) -> None:
    """Every name of Kafka is unknown in both halves, and the error says what to do."""
    with pytest.raises(OptionError) as caught:
        table.read({name.lower(): "value"})
    message = str(caught.value)
    assert message.startswith(f"Unknown option '{name.lower()}'. ")
    assert "Use '" in message or "Leave it out" in message


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("maxOffsetsPerTrigger", "maxRecordsPerShard"),
        ("minOffsetsPerTrigger", "minRecordsPerTrigger"),
        ("topic", "streamName"),
        ("subscribe", "streamName"),
        ("startingOffsets", "startingPosition"),
        ("startingTimestamp", "startingPosition"),
        ("kafka.bootstrap.servers", "endpointUrl"),
    ],
)
def test_names_of_ours(name: str, ours: str) -> None:
    """The names that users bring along most often lead to ours."""
    with pytest.raises(OptionError, match=f"'{ours}'"):
        SOURCE_OPTIONS.read({name: "value"})


def test_hints_name_options_that_exist() -> None:
    """Every option that a hint tells to use is one of ours."""
    named = {
        word
        for hint in KAFKA_HINTS
        if hint.instead.startswith("Use")
        for word in re.findall("`([a-z]+[A-Z][A-Za-z]+)`", hint.instead)
    }
    assert named
    assert [name for name in named if SOURCE_OPTIONS.find(name) is None] == []


def test_positions_in_hints_are_accepted() -> None:
    """The positions that a hint shows are values of startingPosition."""
    hints = " ".join(hint.instead for hint in KAFKA_HINTS)
    shown = re.findall("`([A-Z][A-Z_]+[^`]*)`", hints)
    assert {"TRIM_HORIZON", "LATEST"} < set(shown)
    for position in shown:
        SOURCE_OPTIONS.read({"streamName": "orders", "startingPosition": position})
