"""Aggregates and bodies of requests, made by kinesis-native and by Python: the same bytes."""

from __future__ import annotations

import random
import sys
from base64 import b64decode
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.aws.fast import wire, wire_cbor
from kinesis_core.errors import InvalidRecordError
from kinesis_core.model import EntryColumns, PutEntry, entry_sizes, join_entries, pick_entries
from kinesis_core.producing import Producer, ProducerSettings
from kinesis_core.producing.accumulator import RecordAccumulator
from kinesis_core.producing.packer import ColumnAggregate, OpenAggregate, RowAggregate, row_entries
from kinesis_core.producing.rows import RowColumns, Rows
from kinesis_core.producing.shard_queue import SendState, ShardBatch
from native.package import require_native
from native.rows import as_columns, bounds, make_router, mixtures, row_lists, rows_of
from support.examples import examples
from support.fake_puts import FakePuts
from support.fake_stream import FakeClock

native = require_native()

Batches = list[tuple[str, list[PutEntry], int, int, bool]]
sizes = st.sampled_from([64, 200, 400, 1_000, 51_200])
MOST_BYTES = 2**20
cuts = st.lists(st.integers(1, 60), max_size=4)


def chunks(rows: Rows, at: Sequence[int]) -> list[Rows]:
    edges = [0, *sorted({cut for cut in at if cut < len(rows)}), len(rows)]
    return [rows.part(start, stop) for start, stop in pairwise(edges)]


def pack(rows: Sequence[Rows], starts: set[int], max_bytes: int, aggregated: bool) -> Batches:
    """Return all batches that a producer makes of *rows*, which come in several chunks."""
    producer = ProducerSettings(aggregation_enabled=aggregated, aggregation_max_size=max_bytes)
    shards = make_router(starts).shards
    accumulator = RecordAccumulator.open(
        "orders", shards, producer, 1024 * 1024, random.Random(0), created_ms=0
    )
    for chunk in rows:
        assert not accumulator.offer(accumulator.group(chunk), 0.0)
    accumulator.seal()
    batches = [batch for queue in accumulator.router.queues for batch in queue.batches]
    assert accumulator.counts.held_bytes == sum(batch.size_bytes for batch in batches)
    return [facts(batch) for batch in batches]


def aggregate_of(rows: Rows) -> OpenAggregate:
    """Return one aggregate of all *rows*."""
    state = SendState(0.0, 0)
    aggregate: OpenAggregate = RowAggregate(state, AggregateBuilder(MOST_BYTES))
    if isinstance(rows, RowColumns):
        aggregate = ColumnAggregate(state, native.AggregateBuilder(MOST_BYTES))
    assert aggregate.extend(rows, 0) == len(rows) == aggregate.count
    return aggregate


def facts(batch: ShardBatch) -> tuple[str, list[PutEntry], int, int, bool]:
    assert batch.sizes() == [len(entry.data) + len(entry.partition_key.encode()) for entry in batch.entries]
    return batch.shard_id, list(batch.entries), batch.size_bytes, batch.user_records, batch.is_aggregate


@settings(deadline=None)
@given(row_lists | mixtures, st.booleans(), bounds, sizes, cuts, st.booleans())
def test_same_batches(
    rows: list[Any], with_hash_keys: bool, starts: set[int], max_bytes: int, at: list[int], aggregated: bool
) -> None:
    """
    A producer makes the same records, byte for byte: also of an aggregate that several chunks fill, and of rows that are
    aggregates already.
    """
    theirs = chunks(rows_of(rows, with_hash_keys), at)
    ours = list(map(as_columns, theirs))
    assert pack(ours, starts, max_bytes, aggregated) == pack(theirs, starts, max_bytes, aggregated)


@settings(deadline=None)
@given(row_lists, sizes, st.integers(0, 3))
def test_rows_of_both_kinds(rows: list[Any], max_bytes: int, kinds: int) -> None:
    """Rows of Python and of kinesis-native may follow each other. None is lost, and each record holds one kind."""
    parts = chunks(rows_of(rows), range(0, len(rows), 5))
    mixed = [as_columns(part) if index % 2 == kinds % 2 else part for index, part in enumerate(parts)]
    assert sum(batch[3] for batch in pack(mixed, set(), max_bytes, aggregated=True)) == len(rows)


@settings(deadline=None)
@given(row_lists.filter(lambda rows: len(rows) > 1))
def test_the_library_reads_aggregates(rows: list[Any]) -> None:
    """AWS's library unpacks an aggregate of kinesis-native into the rows. It mixes up explicit hash keys."""
    path = list(sys.path)
    from aws_kinesis_agg import deaggregator

    sys.path[:] = path
    [entry] = aggregate_of(as_columns(rows_of(rows))).entries()
    record = {
        "Data": entry.data,
        "PartitionKey": entry.partition_key,
        "SequenceNumber": "1",
        "ApproximateArrivalTimestamp": 1.0,
    }
    read = [found["kinesis"] for found in deaggregator.iter_deaggregate_records([record], "Boto3")]
    assert [(b64decode(found["data"]), found["partitionKey"]) for found in read] == [row[:2] for row in rows]


@settings(deadline=None)
@given(row_lists, st.booleans())
def test_the_bound_of_an_aggregate(rows: list[Any], with_hash_keys: bool) -> None:
    """All rows fit into exactly the size that Python computes. With a byte less, the last one does not."""
    theirs = rows_of(rows, with_hash_keys)
    exact_bytes = aggregate_of(theirs).size_bytes
    builders = [native.AggregateBuilder(exact_bytes - less) for less in (0, 1)]
    added = [builder.extend(as_columns(theirs).native, 0) for builder in builders]
    assert added == [len(rows), len(rows) - 1]
    assert builders[0].size_bytes == exact_bytes


entry_lists = st.lists(row_lists, min_size=1, max_size=4)


def make_entries(lists: Sequence[Any], by_native: bool) -> Sequence[PutEntry]:
    """Return plain records and aggregates of *lists*, alternately."""
    parts = []
    for index, rows in enumerate(map(rows_of, lists)):
        taken = as_columns(rows) if by_native else rows
        parts.append(aggregate_of(taken).entries() if index % 2 else row_entries(taken))
    return join_entries(parts)


@settings(deadline=None, max_examples=examples(60))
@given(entry_lists, st.sampled_from([("orders", None), ("orders", "arn:aws:kinesis"), ('"\\\né', None)]))
def test_same_bodies(lists: list[Any], stream: tuple[str, str | None]) -> None:
    """The body of a request is the same, byte for byte, whatever the keys contain."""
    ours, theirs = make_entries(lists, by_native=True), make_entries(lists, by_native=False)
    assert isinstance(ours, EntryColumns)
    assert ours.native.encode_json(*stream) == wire.encode_put_in_python(theirs, *stream)
    assert wire.encode_put(ours, *stream) == wire.encode_put(theirs, *stream)
    assert ours.native.encode_cbor(*stream) == wire_cbor.encode_put_in_python(theirs, *stream)
    assert wire_cbor.encode_put(ours, *stream) == wire_cbor.encode_put(theirs, *stream)
    assert list(ours) == list(theirs)


def test_an_empty_key_is_left_out() -> None:
    """A record without a partition key has no such member. A request without records is left to Python."""
    entries = as_columns(Rows([b"x"], [""])).entries()
    assert wire.encode_put(entries, "orders", None) == b'{"Records":[{"Data":"eA=="}],"StreamName":"orders"}'
    assert wire.encode_put(entries[:0], "orders", None) == b'{"Records":[],"StreamName":"orders"}'
    for sent in (entries, entries[:0]):
        body = wire_cbor.encode_put(sent, "orders", None)
        assert body == wire_cbor.encode_put_in_python(list(sent), "orders", None)


@pytest.mark.parametrize("size", [0, 23, 24, 255, 256, 65_535, 65_536])
def test_lengths_in_cbor(size: int) -> None:
    """A length is written as short as cbor2 writes it."""
    entries = as_columns(Rows([b"x" * size] * 30, ["k" * max(1, min(size, 256))] * 30)).entries()
    body = entries.native.encode_cbor("orders", None)
    assert body == wire_cbor.encode_put_in_python(list(entries), "orders", None)


@settings(deadline=None, max_examples=examples(60))
@given(entry_lists, st.slices(150), st.randoms())
def test_records_are_a_sequence(lists: list[Any], part: slice, rng: random.Random) -> None:
    """Records are read, cut, picked and joined like those in a list."""
    ours, theirs = make_entries(lists, by_native=True), list(make_entries(lists, by_native=False))
    assert len(ours) == len(theirs)
    assert ours == theirs
    assert ours[part] == theirs[part]
    assert ours[len(theirs) - 1] == ours[-1] == theirs[-1]
    assert entry_sizes(ours) == entry_sizes(theirs)
    chosen = rng.sample(range(len(theirs)), rng.randint(0, len(theirs)))
    assert list(pick_entries(ours, chosen)) == pick_entries(theirs, chosen)
    assert list(pick_entries(ours, range(1, len(theirs)))) == theirs[1:]
    assert list(join_entries((ours[part], ours))) == theirs[part] + theirs
    assert join_entries((ours, theirs)) == theirs + theirs


def test_indexes_beyond_the_end() -> None:
    """An index beyond the end is an error of Python, never a crash."""
    rows = as_columns(Rows([b"x"], ["k"]))
    entries = rows.entries()
    for wrong in (
        lambda: entries[1],
        lambda: entries.native.entries(0, 2),
        lambda: entries.native.slice(1, 0),
        lambda: entries.native.pick([1]),
        lambda: rows.native.part(0, 2),
        lambda: native.AggregateBuilder(64).extend(rows.native, 2),
        lambda: native.AggregateBuilder(64).close(),
    ):
        with pytest.raises(IndexError):
            wrong()
    with pytest.raises(ValueError, match="another number"):
        rows.native.with_keys(["a", "b"])
    with pytest.raises(OverflowError):
        entries.native.pick([-1])


@settings(deadline=None, max_examples=examples(40))
@given(row_lists, bounds, st.booleans())
def test_arrays_are_put_like_lists(rows: list[Any], starts: set[int], aggregated: bool) -> None:
    """A producer writes Arrow arrays as it writes lists of the same values."""
    lists = rows_of(rows)
    columns = (lists.data, lists.keys, lists.hash_keys)
    written = []
    for kind in ("arrays", "lists"):
        puts = FakePuts().create(len(starts) + 1)
        with Producer(puts, ProducerSettings(aggregation_enabled=aggregated), clock=FakeClock()) as producer:
            if kind == "lists":
                producer.put_columns(*columns)
            else:
                types = (pa.binary(), pa.string(), pa.string())
                arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
                assert producer.put_arrays(*arrays)
        written.append(
            sorted((r.data, r.partition_key, r.explicit_hash_key or "") for r in puts.user_records())
        )
    assert written[0] == written[1] == sorted((data, key, hash_key or "") for data, key, hash_key in rows)


def test_refused_arrays_put_nothing() -> None:
    """A row that Kinesis would refuse is left to `put_columns`, which raises the error. Nothing is put before."""
    puts = FakePuts().create(1)
    with Producer(puts) as producer:
        assert not producer.put_arrays(pa.array([b"x", b"y"]), pa.array(["k", ""]))
        with pytest.raises(InvalidRecordError, match="row 1 has 0 characters"):
            producer.put_columns([b"x", b"y"], ["k", ""])
    assert not puts.stored
