"""The reader for Spark 4.2 and later, which is given the start of a batch."""

from __future__ import annotations

from typing import Any

from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.reader_42 import StreamReader42
from unit.spark_kinesis_source.test_reader_40 import OPTIONS, ScriptedPlanner, large


def test_an_offset_of_an_older_release_keeps_its_text() -> None:
    """A new text starts a batch. So an offset that stays the same is written as it was read, and a later one as today."""
    saved = large(40).to_json(max_shards=201)
    reader: Any = StreamReader42(SourceOptions.parse(OPTIONS), ("data",))
    reader._opened = planner = ScriptedPlanner()
    limit = reader.getDefaultReadLimit()
    planner.plan = lambda start: start  # nothing is new
    assert reader.latestOffset(saved, limit) == saved
    planner.plan = lambda _: large(50)
    assert reader.latestOffset(saved, limit) == large(50).to_json()
    assert large(40).to_json() != saved
