"""Splits and merges: every record comes once, in the order of its partition key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest

from support.servers import both_ways, witnessed
from support.spark_harness import Query
from support.streams import StreamUnderTest

pytestmark = pytest.mark.all_sparks
MakeQuery = Callable[..., Query]


def put_split_put_merge_put(stream: StreamUnderTest) -> None:
    stream.put_numbers(10)
    stream.split()
    stream.put_numbers(10)
    stream.merge()
    stream.put_numbers(10)


@pytest.mark.tests
@witnessed
def test_split_and_merge_while_streaming(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """Records put before, between and after a split and a merge arrive once. Finished shards run no batches."""
    stream.put_numbers(10)
    query = make_query(stream.options()).start().wait_for_rows(10)
    stream.split()
    stream.put_numbers(10)
    query.wait_for_rows(20)
    stream.merge()
    stream.put_numbers(10)
    query.wait_for_rows(30)
    planned = query.offsets()
    assert query.process_all().offsets() == planned
    assert sorted(query.payloads) == sorted(stream.payloads)


@both_ways
def test_split_and_merge_before_the_start(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A query from TRIM_HORIZON reads everything of a stream that was split and merged earlier."""
    put_split_put_merge_put(stream)
    query = make_query(stream.options()).start().wait_for_rows(30)
    assert sorted(query.payloads) == sorted(stream.payloads)


@both_ways
def test_ten_rounds_of_resharding(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """Ten rounds of split and merge during a query lose and repeat nothing."""
    query = make_query(stream.options()).start()
    for _ in range(10):
        put_split_put_merge_put(stream)
        stream.split()
        stream.merge()
    query.wait_for_rows(300)
    assert sorted(query.payloads) == sorted(stream.payloads)


@pytest.mark.tests
@witnessed
def test_split_of_a_parent_with_a_backlog(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A parent with a backlog of several batches is read to its end before its children are read."""
    for _ in range(60):
        stream.put_numbers(1)
    parents = len(stream.payloads)
    stream.split()
    stream.put_numbers(20)
    query = make_query(stream.options(maxRecordsPerShard=10)).start().wait_for_rows(80)
    assert query.payloads[:parents] == stream.payloads[:parents]
    assert sorted(query.payloads) == sorted(stream.payloads)
    assert len([batch for batch in query.batches.values() if batch]) > 2


@witnessed
def test_resharding_while_the_query_is_down(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A query from LATEST reads all records of children that were created while it was down."""
    stream.put("before")
    query = make_query(stream.options(startingPosition="LATEST")).start().wait_started().stop()
    put_split_put_merge_put(stream)
    query.start().wait_for_rows(30)
    assert sorted(query.payloads) == sorted(stream.payloads[1:])


@witnessed
def test_order_per_partition_key(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """Records of one partition key keep their order across a split and a merge."""
    query = make_query(stream.options()).start()
    for phase in range(3):
        for number in range(5):
            for key in ("a", "b", "c", "d"):
                stream.put(f"{key}-{phase}{number}", key=key)
        (stream.split, stream.merge, stream.open_shards)[phase]()
    query.wait_for_rows(60)
    by_key = defaultdict(list)
    for row in query.rows:
        by_key[row.partitionKey].append(bytes(row.data))
    assert [by_key[key] == sorted(by_key[key]) for key in "abcd"] == [True] * 4
    assert sorted(query.payloads) == sorted(stream.payloads)


@both_ways
def test_recreated_stream(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A recreated stream under an old checkpoint is an error. It is never read silently."""
    stream.put_numbers(3)
    query = make_query(stream.options()).start().wait_for_rows(3).stop()
    stream.delete()
    stream.create()
    stream.put_numbers(3)
    with pytest.raises(Exception, match="deleted and created again") as caught:
        query.start().process_all()
    assert stream.name in str(caught.value)
