"""Generated migrations: wherever another connector stopped, each later user record comes exactly once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core.options import starting_position
from property.aggregated import Case, Row, Written, cases
from support.examples import examples


@define
class Connector:
    """Another connector that stopped somewhere; *draw* decides where."""

    written: Written
    draw: st.DataObject
    unpacks: bool
    """Whether it knows of aggregates, as awslabs's does and qubole's does not."""
    read: dict[str, int] = field(factory=dict)
    """How many user records it read, by shard that it knows."""
    finished: set[str] = field(factory=set)
    started: dict[str, dict[str, str]] = field(factory=dict)
    """Where its last batch began: its line in the offset log."""
    ended: list[dict[str, Any]] = field(factory=list)
    """Where it ended: its files, by shard."""

    def stop(self) -> str:
        """Read some of the stream, stop, and return what a user pastes."""
        reads_children_early = self._chance()
        for shard_id, shard in self.written.stream.shards.items():  # parents come before their children
            may_begin = reads_children_early or self.finished.issuperset(shard.parents)
            knows_parents = all(parent in self.read for parent in shard.parents)
            if not shard.parents or (may_begin and knows_parents and self._chance()):
                self._read_some_of(shard_id)
        for shard_id in self.read:
            self._save(shard_id)
        started = {"metadata": {"streamName": "orders", "batchId": "7"}, **self.started}
        return "\n".join(map(json.dumps, [started, *self.ended]))

    def _chance(self) -> bool:
        return self.draw.draw(st.booleans())

    def _read_some_of(self, shard_id: str) -> None:
        rows = self.written.all_rows()[shard_id]
        self.read[shard_id] = self._draw_count(rows, 0)
        is_closed = self.written.stream.shards[shard_id].is_closed
        if is_closed and self.read[shard_id] == len(rows) and self._chance():
            self.finished.add(shard_id)

    def _draw_count(self, rows: list[Row], first: int, last: int | None = None) -> int:
        count = self.draw.draw(st.integers(first, len(rows) if last is None else last))
        while not self.unpacks and 0 < count < len(rows) and rows[count][1] == rows[count - 1][1]:
            count += 1
        return count

    def _save(self, shard_id: str) -> None:
        """Write the shard into the offset, a file of its own or both; leave it out if it and its children allow that."""
        stream, read = self.written.stream, self.read[shard_id]
        children = [s.shard_id for s in stream.shards.values() if shard_id in s.parents]
        is_finished = shard_id in self.finished
        if is_finished and children and self.read.keys() >= set(children) and self._chance():
            return
        if is_finished or self._chance():
            rows = self.written.all_rows()[shard_id]
            self.started[shard_id] = self._position(shard_id, self._draw_count(rows, 0, read))
            ended = {"iteratorType": "SHARD_END", "iteratorPosition": ""}
            self.ended.append(
                {"shardId": shard_id, **(ended if is_finished else self._position(shard_id, read))}
            )
        else:
            self.started[shard_id] = self._position(shard_id, read)

    def _position(self, shard_id: str, read: int) -> dict[str, str]:
        if read == 0:
            return {"iteratorType": "TRIM_HORIZON", "iteratorPosition": ""}
        _, number, index, _ = self.written.all_rows()[shard_id][read - 1]
        position = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": number}
        if not self.unpacks:
            return position
        size = self.written.sizes[number]
        is_last = index == max(1, size) - 1
        return {**position, "subSequenceNumber": str(index if size else -1), "isLast": str(is_last).lower()}


@pytest.mark.tests
@settings(max_examples=examples(200), deadline=None)
@given(st.data(), cases, st.booleans())
def test_nothing_is_lost_or_repeated(data: st.DataObject, case: Case, unpacks: bool) -> None:
    """A query continues after the very user record at which another connector stopped, inside aggregates too."""
    connector = Connector(case.written, data, unpacks)
    case.assert_rest_is_read(starting_position().parse(connector.stop()), connector.read)
