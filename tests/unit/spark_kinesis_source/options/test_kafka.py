"""The hints for users of Spark's Kafka source and sink."""

from __future__ import annotations

import re

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.options import KAFKA_SINK_HINTS, KAFKA_SOURCE_HINTS, OptionTable
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

HALVES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
NAMES = [
    name.replace("*", "max.poll.records")
    for name in dict.fromkeys(
        name for hint in (*KAFKA_SOURCE_HINTS, *KAFKA_SINK_HINTS) for name in hint.names
    )
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("table", HALVES.values(), ids=HALVES)
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
        ("maxOffsetsPerTrigger", "maxRecordsPerTrigger"),
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


@pytest.mark.parametrize(
    ("half", "name", "said"),
    [
        ("sink", "startingOffsets", "Leave it out: it is an option of reading."),
        ("sink", "maxOffsetsPerTrigger", "Leave it out: it is an option of reading."),
        ("sink", "minPartitions", "Leave it out: it is an option of reading."),
        ("sink", "kafka.group.id", "Leave it out: it is an option of reading."),
        (
            "sink",
            "topic",
            "Use 'streamName' or 'streamARN', or name the stream of each row in a column 'streamName'.",
        ),
        ("source", "topic", "Use 'streamName' or 'streamARN'."),
        ("source", "kafka.key.serializer", "Leave it out: it is an option of writing."),
    ],
)
def test_names_of_the_other_half(half: str, name: str, said: str) -> None:
    """An option of the other half of Kafka's connector is to be left out."""
    with pytest.raises(OptionError) as caught:
        HALVES[half].read({name: "value"})
    assert str(caught.value) == f"Unknown option '{name}'. {said}"


@pytest.mark.parametrize("table", HALVES.values(), ids=HALVES)
def test_hints_name_options_that_exist(table: OptionTable) -> None:
    """Every option that a hint tells to use is one of the same half."""
    named = {
        word
        for hint in table.hints
        if hint.instead.startswith("Use")
        for word in re.findall("`([a-z]+[A-Z][A-Za-z]+)`", hint.instead)
    }
    assert named
    assert [name for name in named if table.find(name) is None] == []


@pytest.mark.parametrize("table", HALVES.values(), ids=HALVES)
def test_a_name_has_one_hint(table: OptionTable) -> None:
    """No name has two hints in one half."""
    names = [name for hint in table.hints for name in hint.names]
    assert len(names) == len(set(names))


def test_positions_in_hints_are_accepted() -> None:
    """The positions that a hint shows are values of startingPosition."""
    hints = " ".join(hint.instead for hint in KAFKA_SOURCE_HINTS)
    shown = re.findall("`([A-Z][A-Z_]+[^`]*)`", hints)
    assert {"TRIM_HORIZON", "LATEST"} < set(shown)
    for position in shown:
        SOURCE_OPTIONS.read({"streamName": "orders", "startingPosition": position})
