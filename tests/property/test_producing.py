"""Producing generated user records into generated streams with faults: nothing is lost, and every copy is explained."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import example, given, settings, strategies as st

from kinesis_core.aggregation import AggregateBuilder, UserRecords, is_aggregate, unpack
from kinesis_core.model import MAX_PUT_RECORDS, PutEntry
from kinesis_core.model.put_records import MAX_PUT_BYTES
from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.rows import NO_KEY, Rows
from kinesis_core.producing.shard_map import MAX_HASH_KEY
from support.aggregates import MAGIC, aggregate, sealed
from support.examples import examples
from support.fake_puts import Desk, FakePuts, payloads_of

keys = st.text(st.characters(codec="utf-8"), min_size=1, max_size=256)
few_keys = st.sampled_from([f"key-{number}" for number in range(12)])
hash_keys = st.none() | st.integers(0, MAX_HASH_KEY).map(str)
payloads = st.binary(max_size=300) | st.integers(0, 1024 * 1024 - 1024).map(bytes)
sizes = st.sampled_from([64, 200, 1_000, 51_200, 1024 * 1024])


@settings(deadline=None)
@given(st.lists(st.tuples(payloads, keys, hash_keys), max_size=30), sizes)
def test_an_aggregate_gives_back_what_was_put_in(
    rows: list[tuple[bytes, str, str | None]], max_bytes: int
) -> None:
    """User records come back in order. The size is the predicted one, and stays within the bound."""
    builder = AggregateBuilder(max_bytes)
    added = [row for row in rows if builder.add(*row)]
    aggregate = builder.build()
    assert len(aggregate) == builder.size_bytes <= max_bytes
    assert builder.count == len(added)
    if added:
        data, names, hashes = map(list, zip(*added, strict=True))
        assert unpack(aggregate) == UserRecords(data, names, hashes)


@settings(deadline=None)
@given(st.lists(st.tuples(payloads, keys), max_size=40), sizes)
def test_adding_many_is_adding_one_by_one(rows: list[tuple[bytes, str]], max_bytes: int) -> None:
    """`extend` stops at the user record that `add` refuses, and builds the same bytes."""
    data, names = [row[0] for row in rows], [row[1] for row in rows]
    together, single = AggregateBuilder(max_bytes), AggregateBuilder(max_bytes)
    index = together.extend(data, names)
    refused = next((i for i, row in enumerate(rows) if not single.add(*row)), len(rows))
    assert index == refused == together.count
    assert together.build() == single.build()


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(st.tuples(payloads, few_keys, hash_keys), max_size=60), sizes, st.integers(1, 6), st.booleans()
)
def test_packing_keeps_bounds_and_shards(
    rows: list[tuple[bytes, str, str | None]], max_bytes: int, shards: int, aggregated: bool
) -> None:
    """
    Requests and records stay within their limits. Every user record is written once, with its keys, to its own shard.
    A lone one is not aggregated.
    """
    puts = FakePuts().create(shards)
    desk = Desk.open(puts, ProducerSettings(aggregation_enabled=aggregated, aggregation_max_size=max_bytes))
    desk.put(_rows(rows))
    desk.flush()
    found = [(r.data, r.partition_key, r.explicit_hash_key) for r in puts.user_records()]
    assert Counter(found) == Counter(rows)
    assert all(record.is_owned for record in puts.user_records())
    assert max(puts.requests, default=0) <= MAX_PUT_RECORDS
    assert max(puts.request_bytes, default=0) <= MAX_PUT_BYTES
    for entry, _ in puts.stored:
        aggregate = unpack(entry.data)
        assert aggregate is None or (aggregated and len(aggregate.data) > 1 and len(entry.data) <= max_bytes)
    assert desk.accumulator.counts.held_bytes == 0


aggregates = (
    st.lists(st.tuples(few_keys, hash_keys, st.binary(max_size=30)), min_size=1, max_size=5).map(aggregate)
    | st.binary(min_size=1, max_size=30).map(sealed)  # a message that nobody can read
)
near_aggregates = st.one_of(
    aggregates.map(lambda data: data[:-1]),
    aggregates.map(lambda data: data + b"\x00"),
    aggregates.map(lambda data: data[1:]),
    st.just(sealed(b"")),
    st.binary(max_size=40).map(MAGIC.__add__),
)
mixtures = st.lists(
    st.tuples(aggregates | near_aggregates | st.binary(max_size=60), few_keys, hash_keys), max_size=60
)


@settings(deadline=None, max_examples=examples(100))
@given(mixtures, sizes, st.integers(1, 3), st.booleans())
def test_rows_that_are_aggregates_already_are_records_of_their_own(
    rows: list[tuple[bytes, str, str | None]], max_bytes: int, shards: int, aggregated: bool
) -> None:
    """
    Whatever its neighbours are, a row that is an aggregate is stored as it is, with its own keys. So readers get what they
    get if each row is put alone: unpacked or not.
    """
    puts, alone = FakePuts().create(shards), FakePuts().create(shards)
    desk = Desk.open(puts, ProducerSettings(aggregation_enabled=aggregated, aggregation_max_size=max_bytes))
    desk.put(_rows(rows))
    desk.flush()
    for row in rows:
        alone.put_records([PutEntry(*row)])
    assert Counter(puts.user_records()) == Counter(alone.user_records())
    stored = Counter((e.data, e.partition_key, e.explicit_hash_key) for e, _ in puts.stored)
    whole = Counter(row for row in rows if is_aggregate(row[0]))
    assert not whole - stored
    packed = [unpack(data) for data, _, _ in (stored - whole).elements()]
    assert sum(1 if found is None else len(found.data) for found in packed) == len(rows) - whole.total()


stream_changes = st.lists(
    st.tuples(
        st.sampled_from(
            ["split", "merge", "hide", "distribute", "distribute", "pause", "recreate", "leave", "flush"]
        ),
        st.integers(0, 5),
        st.integers(0, 9),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=examples(100))
@given(
    stream_changes,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([300, 2**24]),
    st.integers(0, 2**32),
)
@example([("distribute", 0, 2), ("recreate", 0, 0)], True, True, True, 300, 0)
@example([*[("split", 0, 0)] * 4, ("distribute", 0, 1), ("recreate", 2, 3)], False, False, True, 300, 0)
def test_streams_that_change_under_a_producer(
    plan: list[tuple[str, int, int]],
    is_auto: bool,
    is_reported: bool,
    aggregated: bool,
    buffer_bytes: int,
    seed: int,
) -> None:
    """
    The stream is resharded, its shards are listed late, its strategy is switched with and without a report, and it is
    deleted and recreated. Every user record is in the stream of its time, and the KCL delivers each exactly once.

    There is one exception: if the stream is recreated between a write and its flush, the flush may be an error, which
    counts the user records.
    """
    puts = FakePuts(random.Random(seed), is_auto=is_auto, is_reported=is_reported).create(3)
    settings_ = ProducerSettings(
        aggregation_enabled=aggregated, aggregation_max_size=500, buffer_bytes=buffer_bytes, record_ttl_s=3600
    )
    desk = Desk.open(puts, settings_, seed)
    put, lasting, flushed, is_doubtful = 0, 0, 0, False
    for number in range(10):
        for action, index, when in plan:
            if when != number:
                continue
            if action == "flush":
                desk.flush()
                desk.accumulator.counts.take_totals()
                flushed = put
            if action in ("recreate", "leave"):
                lasting = put
                is_doubtful = is_doubtful or flushed < put
            _change(desk, action, index)
        desk.put(_keyed(put, put + 50, seed))
        put += 50
        if desk.accumulator.failure is not None:
            break
    desk.flush()
    if desk.accumulator.failure is not None:
        assert is_doubtful
        assert aggregated
        assert desk.accumulator.failure.counts.keys() == {"StreamRecreated"}
        return
    here = Counter(record.data for record in puts.kcl_user_records())
    assert set(here) >= {b"%d" % number for number in range(lasting, put)}
    assert max(here.values()) == 1
    gone = {data for entry, _ in puts.gone for data in payloads_of(entry)}
    assert set(here) | gone == {b"%d" % number for number in range(put)}
    assert desk.accumulator.counts.held_bytes == 0


def _change(desk: Desk, action: str, index: int) -> None:
    puts = desk.puts
    if action == "hide":
        puts.holes = index + 1
    elif action == "distribute":
        puts.is_auto = not puts.is_auto
    elif action == "pause":
        desk.clock.sleep(2.0**index)
    elif action == "recreate":
        desk.clock.sleep(6.0)  # AWS takes longer to delete and recreate a stream
        puts.recreate(index + 1)
    elif action == "leave":
        desk.clock.sleep(6.0)
        _come_back_when_listed(puts, index + 1)
    elif action != "flush":
        _reshard(puts, action, index)


def _come_back_when_listed(puts: FakePuts, shards: int) -> None:
    """Let the stream be missing until its shards are listed."""
    puts.recreate(shards)
    puts.is_there = False

    def come_back() -> None:
        puts.is_there = True

    puts.before_listing = come_back


def _keyed(start: int, stop: int, seed: int) -> Rows:
    """Return rows some of which have no key."""
    rows = _numbered(start, stop)
    return Rows(rows.data, [NO_KEY if (n + seed) % 5 == 0 else key for n, key in enumerate(rows.keys)])


def _reshard(puts: FakePuts, action: str, index: int) -> None:
    opened = puts.open_shards()
    if action == "split":
        puts.split(opened[index % len(opened)])
    elif len(opened) > 1:
        first = index % (len(opened) - 1)
        puts.merge(*opened[first : first + 2])


def _rows(rows: list[tuple[bytes, str, str | None]]) -> Rows:
    return Rows([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def _numbered(start: int, stop: int) -> Rows:
    numbers = range(start, stop)
    return Rows([b"%d" % number for number in numbers], [f"key-{number % 37}" for number in numbers])
