"""Checkpoints of the awslabs and qubole connectors, as their users paste them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    Latest,
    PerStream,
    ShardEnd,
    TrimHorizon,
)
from kinesis_core.options import BadValueError, ending_position, starting_position

GOLDEN = Path(__file__).parents[4] / "golden" / "checkpoints"
S0, S1, S2, S3, S4 = (f"shardId-{i:012d}" for i in range(5))
BATCH_BEGAN = At(49605240428200006291917297020490128157480794051565322242, skip=2)
BEGAN = 49605240428222307037115827613554798409561082419642105874
ENDED = 49605240428222307037115827613554798409561082419642105999
PLANNED_MS = 1790000020000


def parse(text: str) -> Any:
    return starting_position().parse(text)


def entry(kind: str, at: object = "", **more: object) -> dict[str, object]:
    return {"iteratorType": kind, "iteratorPosition": at, **more}


def offset(stream: str = "orders", /, **shards: Mapping[str, object]) -> str:
    return json.dumps({"metadata": {"streamName": stream, "batchId": "7"}, **shards})


def shard_file(shard_id: str, kind: str, at: object = "", **more: object) -> str:
    return json.dumps({"shardId": shard_id, **entry(kind, at, **more)})


def pasted(folder: str, *names: str) -> str:
    return "".join((GOLDEN / folder / name).read_text() for name in names)


def test_an_offset_of_awslabs() -> None:
    """The file of the offset log alone gives the start of its batch, which may be inside an aggregate."""
    assert parse(pasted("awslabs", "offsets-7")) == ForeignCheckpoint(
        {S1: After(BEGAN), S2: BATCH_BEGAN, S3: AtTimestamp(1789990000000), S4: TrimHorizon()}, "orders"
    )


@pytest.mark.parametrize("order", [*permutations(["offsets-7", S1, S2, S3])])
def test_a_checkpoint_of_awslabs(order: tuple[str, ...]) -> None:
    """With the files of the shards it gives the end of the batch, in any order of the files."""
    assert parse(pasted("awslabs", *order)) == ForeignCheckpoint(
        {S1: At(ENDED, skip=5), S2: ShardEnd(), S3: AtTimestamp(PLANNED_MS - 5000), S4: TrimHorizon()},
        "orders",
    )


@pytest.mark.parametrize("between", ["", "\n", "\t", " \r\n"])
def test_a_checkpoint_of_qubole(between: str) -> None:
    """Those of qubole and roncemer have no sub-sequence numbers. Any white space may separate the files."""
    files = [pasted("qubole", name) for name in ("offsets-7", S1, S2)]
    assert parse(between.join(files)) == ForeignCheckpoint(
        {S0: ShardEnd(), S1: After(ENDED), S2: AtTimestamp(1789990000000)}, "orders"
    )


def test_the_files_of_the_shards_alone() -> None:
    """The files of the shards may be pasted alone. LATEST is then the tip, as in the connector that wrote it."""
    found = parse(pasted("awslabs", S1, S2, S3))
    assert found == ForeignCheckpoint({S1: At(ENDED, skip=5), S2: ShardEnd(), S3: Latest()})


def test_what_the_readmes_show() -> None:
    """JSON written by hand, as in the README of either connector, is a starting position."""
    text = offset(**{S0: entry("after_sequence_number", "5", subSequenceNumber="1"), S1: entry("latest")})
    assert parse(text) == ForeignCheckpoint({S0: At(5, skip=2), S1: Latest()}, "orders")
    assert parse(json.dumps({S0: entry("TRIM_HORIZON")})) == ForeignCheckpoint({S0: TrimHorizon()})


@pytest.mark.parametrize(
    ("value", "cut"),
    [
        (entry("AFTER_SEQUENCE_NUMBER", "5"), After(5)),
        (entry("AFTER_SEQUENCE_NUMBER", 5), After(5)),
        (entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber="-1", isLast="true"), After(5)),
        (entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber=-1, isLast=False), After(5)),
        (entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber="0", isLast="false"), At(5, skip=1)),
        (entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber=3, isLast=False), At(5, skip=4)),
        (entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber=3, isLast=True), After(5)),
        (entry("AT_SEQUENCE_NUMBER", "5"), At(5)),
        (entry("AT_SEQUENCE_NUMBER", "5", subSequenceNumber="-1", isLast="true"), At(5)),
        (entry("AT_SEQUENCE_NUMBER", "5", subSequenceNumber="0", isLast="false"), At(5, skip=1)),
        (entry("AT_TIMESTAMP", "1790000000000", subSequenceNumber="-1"), AtTimestamp(1790000000000)),
        ({"iteratorType": "SHARD_END"}, ShardEnd()),
    ],
)
def test_positions(value: dict[str, object], cut: Cut) -> None:
    """The sub-sequence number is that of the last user record read. `isLast` says that the whole aggregate was read."""
    assert parse(offset(**{S0: value})) == ForeignCheckpoint({S0: cut}, "orders")


def test_what_the_user_adds() -> None:
    """A map of shards after a checkpoint adds shards to it and takes precedence."""
    added = json.dumps({S0: "SHARD_END", S1: {"AFTER": "9"}})
    assert parse(pasted("qubole", "offsets-7", S1, S2) + added) == ForeignCheckpoint(
        {S0: ShardEnd(), S1: After(9), S2: AtTimestamp(1789990000000)}, "orders"
    )


def test_a_query_of_two_streams() -> None:
    """A file of the offset log has a line for each source of the query, each with its stream."""
    lines = ["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1790000020000}', "-"]
    lines += [
        offset("orders", **{S0: entry("LATEST")}),
        offset("returns", **{S0: entry("AT_SEQUENCE_NUMBER", "5")}),
    ]
    assert parse("\n".join(lines)) == PerStream(
        {
            "orders": ForeignCheckpoint({S0: AtTimestamp(PLANNED_MS - 5000)}, "orders"),
            "returns": ForeignCheckpoint({S0: At(5)}, "returns"),
        }
    )


def test_checkpoints_by_stream() -> None:
    """Each of several streams may have the checkpoint of a separate query."""
    text = json.dumps({"orders": json.loads(offset(**{S0: entry("SHARD_END")})), "returns": "LATEST"})
    assert parse(text) == PerStream(
        {"orders": ForeignCheckpoint({S0: ShardEnd()}, "orders"), "returns": Latest()}
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (offset(), "The checkpoint has no shards"),
        ('{"batchWatermarkMs": 0}', "The checkpoint has no shards"),
        (
            offset(**{S0: entry("NEXT")}),
            f"{S0} in the checkpoint is not valid. Its iteratorType is not a type of Kinesis.",
        ),
        (offset(**{S0: {}}), f"{S0} in the checkpoint is not valid."),
        (json.dumps({"metadata": {}, S0: "LATEST"}), f"{S0} in the checkpoint is not valid."),
        (offset(**{S0: {"iteratorType": 5}}), f"{S0} in the checkpoint is not valid."),
        (offset(**{S0: entry("AT_TIMESTAMP", "noon")}), "is not a time in milliseconds since the epoch."),
        (offset(**{S0: entry("AFTER_SEQUENCE_NUMBER", "")}), "A sequence number is 1 to 129 digits."),
        (
            offset(**{S0: entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber="x")}),
            "Its subSequenceNumber is not valid.",
        ),
        (
            offset(**{S0: entry("AFTER_SEQUENCE_NUMBER", "5", subSequenceNumber="-2")}),
            "Its subSequenceNumber is not valid.",
        ),
        (json.dumps(entry("LATEST")), "A position in the checkpoint has no 'shardId'."),
        (shard_file(S0, "LATEST") * 2, f"{S0} occurs twice."),
        (offset(**{S0: entry("LATEST")}) * 2, "The text has offsets of two batches of one stream."),
        (
            offset("a", **{S0: entry("LATEST")})
            + offset("b", **{S0: entry("LATEST")})
            + shard_file(S0, "LATEST"),
            "The text has offsets of several streams (a, b)",
        ),
        (offset(**{S0: entry("LATEST")}) + '{"orders": "LATEST"}', "'orders' is not a shard id"),
        (offset(**{S0: entry("LATEST")}) + "v", "The text is not JSON"),
        (offset(**{S0: entry("LATEST")}) + "[]", "Each part of the text must be a JSON object."),
    ],
)
def test_refusals(text: str, hint: str) -> None:
    """A contradictory or incomplete checkpoint is refused, with a hint."""
    with pytest.raises(BadValueError) as caught:
        parse(text)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "text", [offset(**{S0: entry("LATEST")}), json.dumps({"orders": {S0: entry("SHARD_END")}})]
)
def test_no_end(text: str) -> None:
    """Another connector's checkpoint cannot be the end of a batch read."""
    with pytest.raises(BadValueError, match="a starting position, not an ending position"):
        ending_position().parse(text)


names = st.sampled_from(
    [
        "metadata",
        "shardId",
        "iteratorType",
        "iteratorPosition",
        "subSequenceNumber",
        "isLast",
        "streamName",
        S0,
    ]
)
words = st.sampled_from(
    ["LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP", "5", "-1", "true"]
)
values = st.recursive(
    words | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.dictionaries(names, inner, max_size=4) | st.lists(inner, max_size=2),
)


@given(st.lists(st.dictionaries(names, values, max_size=4), min_size=1, max_size=3))
def test_any_documents(documents: list[dict[str, Any]]) -> None:
    """Any content of the files is a position or refused. Nothing else happens."""
    try:
        parse(" ".join(json.dumps(document) for document in documents))
    except BadValueError:
        return
