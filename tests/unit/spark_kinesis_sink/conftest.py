"""Fake producers that record what is put."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("pyspark")

from attrs import define, field

from kinesis_core.aws import StreamRef
from kinesis_core.errors import InvalidRecordError, PutError
from kinesis_core.producing import SenderGroup, Totals
from spark_kinesis_sink.options import SinkOptions


@define(eq=False)
class FakeProducer:
    """
    Refuses data that begins with `bad`, fails a flush of data that begins with `unwritable`, and does not count data
    that begins with `forgotten`.
    """

    stream: StreamRef
    put: list[tuple[bytes, str | None, str | None]] = field(factory=list)
    flushed: int = 0
    sealed: int = 0
    """How many records were put before open aggregates were closed last."""
    state: str = "open"

    def put_columns(
        self,
        data: Sequence[bytes],
        partition_keys: Sequence[str | None] | None = None,
        explicit_hash_keys: Sequence[str | None] | None = None,
    ) -> None:
        assert self.state == "open"
        nothing = [None] * len(data)
        for row, found in enumerate(
            zip(data, partition_keys or nothing, explicit_hash_keys or nothing, strict=True)
        ):
            if found[0].startswith(b"bad"):
                raise InvalidRecordError(f"Row {row} is bad.", row)
            if not found[0].startswith(b"forgotten"):
                self.put.append(found)

    def flush(self) -> Totals:
        assert self.state == "open"
        if any(data.startswith(b"unwritable") for data, _, _ in self.put):
            raise PutError("1 user record could not be written.", {"InternalFailure": 1})
        new, self.flushed = len(self.put) - self.flushed, len(self.put)
        return Totals(user_records=new, records=new)

    def seal(self) -> None:
        assert self.state == "open"
        self.sealed = len(self.put)

    def close(self) -> Totals:
        totals = self.flush()
        self.state = "closed"
        return totals

    def abort(self) -> None:
        self.state = "aborted"


@define
class Made:
    """All producers that were opened, in order."""

    producers: list[FakeProducer] = field(factory=list)
    groups: list[SenderGroup] = field(factory=list)
    """The group of each of them."""

    def open(self, options: SinkOptions, stream: StreamRef, group: SenderGroup) -> FakeProducer:
        del options
        self.groups.append(group)
        self.producers.append(FakeProducer(stream))
        return self.producers[-1]

    def by_stream(self, name: str) -> list[FakeProducer]:
        return [producer for producer in self.producers if producer.stream.name == name]


@pytest.fixture
def made() -> Made:
    return Made()
