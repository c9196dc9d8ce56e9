"""Merging the records of several shards by arrival time: any pages, any times, any lineage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from attrs import frozen
from hypothesis import example, given, strategies as st

from kinesis_core.reading import RangeSource, UserRecord, merge_by_arrival
from support.waiting import PATIENCE_S

Times = list[list[int | None]]
"""The arrival times of the records of one source, list by list."""


@frozen
class Case:
    sources: list[Times]
    after: list[frozenset[int]]


def record(source: int, number: int, arrived_ms: int | None) -> UserRecord:
    return UserRecord(
        stream="orders",
        shard_id=str(source),
        sequence_number=str(number),
        sub_sequence_number=0,
        partition_key=None,
        explicit_hash_key=None,
        data=b"",
        arrived_ms=arrived_ms,
        encryption_type=None,
        millis_behind=0,
    )


def lists_of(source: int, times: Times) -> list[list[UserRecord]]:
    numbers = iter(range(sum(map(len, times))))
    return [[record(source, next(numbers), arrived_ms) for arrived_ms in part] for part in times]


def cases(times: st.SearchStrategy[int | None]) -> st.SearchStrategy[Case]:
    def with_parents(sources: list[Times]) -> st.SearchStrategy[Case]:
        parents = [
            st.frozensets(st.integers(0, number - 1), max_size=2) if number else st.just(frozenset[int]())
            for number in range(len(sources))
        ]
        return st.builds(Case, st.just(sources), st.tuples(*parents).map(list))

    one = st.lists(st.lists(times, max_size=5), max_size=4)
    return st.lists(one, max_size=5).flatmap(with_parents)


def merged(case: Case) -> list[UserRecord]:
    sources = [
        RangeSource(partial(iter, lists_of(number, times)), after)
        for number, (times, after) in enumerate(zip(case.sources, case.after, strict=True))
    ]
    return [each for records in merge_by_arrival(sources) for each in records]


def key(found: UserRecord) -> tuple[int, int]:
    return int(found.shard_id), int(found.sequence_number)


@given(cases(st.none() | st.integers(0, 20)))
@example(Case([[[3]], [[], [1]], [[]]], [frozenset(), frozenset({0}), frozenset({0, 1})]))
def test_every_record_once_and_in_the_order_of_its_shard(case: Case) -> None:
    """Each record comes once, in the order of its shard, and after all records of the shard's ancestors."""
    found = [key(each) for each in merged(case)]
    assert sorted(found) == [
        (source, number)
        for source, times in enumerate(case.sources)
        for number in range(sum(map(len, times)))
    ]
    for source, after in enumerate(case.after):
        own = [index for index, (shard, _) in enumerate(found) if shard == source]
        numbers = [found[index][1] for index in own]
        assert numbers == sorted(numbers)
        before = [index for index, (shard, _) in enumerate(found) if shard in after]
        assert max(before, default=-1) < min(own, default=len(found))


@given(st.lists(st.lists(st.lists(st.integers(0, 50), max_size=5), max_size=4), max_size=5))
def test_exact_times_decide_the_order(sources: list[list[list[int]]]) -> None:
    """Where the times of each shard never decrease, the records come in the order of their times."""
    ordered: list[Times] = []
    for lists in sources:
        times = iter(sorted(each for part in lists for each in part))
        ordered.append([[next(times) for _ in part] for part in lists])
    found = [each.arrived_ms or 0 for each in merged(Case(ordered, [frozenset()] * len(ordered)))]
    assert found == sorted(found)


def test_one_list_of_each_source_is_held() -> None:
    """A source is not asked for its next list before the records of the last one have been delivered."""
    delivered: list[tuple[int, int]] = []

    def lists(source: int, times: Times) -> Iterator[list[UserRecord]]:
        for part in lists_of(source, times):
            yield part
            assert {key(each) for each in part} <= {*delivered}

    sources: list[Times] = [[[1, 5], [6, 7]], [[2], [3], [4, 9]]]
    merging = merge_by_arrival(
        [RangeSource(lambda: lists(0, sources[0])), RangeSource(lambda: lists(1, sources[1]))]
    )
    for records in merging:
        delivered += map(key, records)
    assert len(delivered) == 8


def test_an_error_of_one_source() -> None:
    """An error while the first lists are fetched is raised, and the other sources are closed."""
    closed = threading.Event()

    def broken() -> Iterator[list[UserRecord]]:
        raise OSError("no")
        yield []

    def fine() -> Iterator[list[UserRecord]]:
        try:
            while True:
                yield [record(0, 0, 1)]
        finally:
            closed.set()

    merging = merge_by_arrival([RangeSource(fine), RangeSource(broken)])
    with pytest.raises(OSError, match="no"):
        next(merging)
    del merging
    assert closed.wait(PATIENCE_S)


def test_closing_closes_the_sources() -> None:
    """Whoever stops early ends the reading of all sources."""
    closed = []

    def lists(source: int) -> Iterator[list[UserRecord]]:
        try:
            while True:
                yield [record(source, 0, 1)]
        finally:
            closed.append(source)

    merging = merge_by_arrival([RangeSource(lambda: lists(0)), RangeSource(lambda: lists(1))])
    next(merging)
    merging.close()
    assert closed == [0, 1]
