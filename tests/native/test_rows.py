"""Rows of a producer in kinesis-native and in Python: the same values, the same shards, and the same refusals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from kinesis_core.errors import InvalidRecordError
from kinesis_core.producing.rows import NO_KEY, Rows, check_rows, columns_of, columns_of_arrays, keys_of
from native.package import require_native
from native.rows import as_columns, bounds, hash_keys, keys, make_router, row_lists, rows_of, values
from support.vectors import HASH_KEYS

require_native()

wrong_keys = st.sampled_from(["", "k" * 257, "é" * 257, "\U0001f375" * 257])
wrong_hash_keys = st.sampled_from([text for text, is_hash_key in HASH_KEYS.items() if not is_hash_key])
data_types = st.sampled_from([pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
key_types = st.sampled_from([pa.string(), pa.large_string(), pa.binary()])


def columns(count: int) -> st.SearchStrategy[tuple[Any, ...]]:
    def column(good: st.SearchStrategy[Any], wrong: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(good, min_size=count, max_size=count) | st.lists(
            good | good | wrong, min_size=count, max_size=count
        )

    data = st.text(st.characters(codec="utf-8"), max_size=40).map(str.encode)
    return st.tuples(
        column(data, st.none() | st.just(b"x" * 1_000)),
        st.none() | column(keys, st.none() | wrong_keys),
        st.none() | column(hash_keys, wrong_hash_keys),
    )


def array_of(given_values: list[Any] | None, kind: pa.DataType, before: int, after: int) -> pa.Array | None:
    """Return an array that is a slice of a longer one."""
    if given_values is None:
        return None
    if pa.types.is_binary(kind):
        given_values = [value.encode() if isinstance(value, str) else value for value in given_values]
    whole = pa.array([*given_values[:1] * before, *given_values, None, *given_values[:1] * after], kind)
    return whole.slice(before, len(given_values))


def is_accepted(data: list[Any], names: list[Any] | None, hashes: list[Any] | None, most_bytes: int) -> bool:
    """Return whether Python accepts the columns."""
    try:
        found = keys_of(names, len(data))
        check_rows(Rows(data, found, hashes), most_bytes, (), may_lack_keys=found is not names)
    except InvalidRecordError:
        return False
    return True


@settings(deadline=None)
@given(
    st.integers(1, 12).flatmap(columns),
    st.tuples(data_types, key_types, key_types),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.sampled_from([500, 1_000, 1_016, 10_000]),
)
def test_arrays_are_taken_if_python_accepts_them(
    given_columns: tuple[Any, ...], types: tuple[Any, ...], around: tuple[int, int], most_bytes: int
) -> None:
    """Arrays, slices among them, are rows with the values of the lists. What Python refuses is left to Python."""
    data, names, hashes = given_columns
    arrays = [array_of(column, kind, *around) for column, kind in zip(given_columns, types, strict=True)]
    found = columns_of_arrays(arrays[0], arrays[1], arrays[2], most_bytes)
    assert (found is not None) == is_accepted(data, names, hashes, most_bytes)
    if found is None:
        return
    expected = Rows(data, keys_of(names, len(data)), hashes)
    assert values(found) == values(expected)
    assert len(found) == len(expected)
    assert found.size_bytes() == expected.size_bytes()
    assert found.native.longest_bytes == max(map(len, data))
    assert found.native.missing_keys() == list(expected.keys).count(NO_KEY)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (pa.array([1]), None),
        (pa.array([b"x"]).dictionary_encode(), None),
        (pa.array([b"x"], pa.binary(1)), None),
        (pa.array([], pa.binary()), None),
        (pa.nulls(1), None),
        (pa.array([b"x"]), pa.nulls(1)),
        (pa.array([b"x"]), pa.array(["k", "k"])),
        (pa.array([b"x"]), pa.array([b"\xff"])),
        (pa.array([b"x"]), pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())),
        ([b"x"], ["k"]),
        (None, None),
    ],
)
def test_other_arrays_are_left_to_python(data: Any, names: Any) -> None:
    """Other types, keys that are not UTF-8, arrays of unequal lengths and objects that are no arrays are not taken."""
    assert columns_of_arrays(data, names, None, 1_000) is None


def test_bytes_in_a_string_array_are_data() -> None:
    """A string of Spark may hold any bytes. As data they are taken."""
    data = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    found = columns_of_arrays(data, None, None, 1_000)
    assert found is not None
    assert found.data == [b"\xff"]


@settings(deadline=None)
@given(row_lists, st.booleans(), st.integers(0, 60), st.integers(0, 60), st.randoms())
def test_rows_of_lists(rows: list[Any], with_hash_keys: bool, start: int, stop: int, rng: Any) -> None:
    """Parts, keys that are added, and sizes are those of Python's rows. The order of rows never changes."""
    theirs = rows_of(
        [(data, rng.choice([key, NO_KEY]), hash_key) for data, key, hash_key in rows], with_hash_keys
    )
    ours = as_columns(theirs)
    assert values(ours) == values(theirs)
    assert values(ours.part(start, stop)) == values(theirs.part(start, stop))
    assert values(ours.with_keys(iter("abc" * 60))) == values(theirs.with_keys(iter("abc" * 60)))
    assert ours.sizes() == theirs.sizes()
    assert ours.size_bytes() == theirs.size_bytes() == sum(ours.sizes())
    chosen = rng.sample(range(len(rows)), rng.randint(1, len(rows)))
    assert tuple(map(list, filter(None, values(ours.pick(chosen))))) == tuple(
        map(list, filter(None, values(theirs.pick(chosen))))
    )
    assert values(ours.joined(theirs)) == values(theirs.joined(theirs))


@settings(deadline=None)
@given(row_lists, st.booleans(), bounds, st.integers(0, 9))
@example([(b"x", "k", "0"), (b"y", "k", "7"), (b"z", "k", "6")], True, {7}, 0)
def test_same_groups(rows: list[Any], with_hash_keys: bool, starts: set[int], start: int) -> None:
    """Each row goes to the queue of the same shard. Queues come in the same order, and their rows too."""
    theirs, ours = make_router(starts), make_router(starts)
    part = rows_of(rows, with_hash_keys).part(min(start, len(rows) - 1), len(rows))
    expected = theirs.group(part)
    taken = as_columns(part)
    assert taken.native.group(ours.shards.start_bytes) is not None
    found = ours.group(taken)
    assert [queue.shard_id for queue in ours.queues] == [queue.shard_id for queue in theirs.queues]
    assert [(queue.shard_id, values(group)) for queue, group in found.items()] == [
        (queue.shard_id, tuple(None if column is None else list(column) for column in values(group)))
        for queue, group in expected.items()
    ]
    for group in found.values():  # as after a reshard
        assert sum(map(len, ours.group(group).values())) == len(group)


@pytest.mark.parametrize(("data", "key"), [(b"x", "\ud800"), (bytearray(b"x"), "k"), (b"x", 7)])
def test_other_values_stay_with_python(data: Any, key: Any) -> None:
    """Values that are neither bytes nor text are left to Python."""
    rows = Rows([data], [key])
    assert columns_of(rows) is rows
