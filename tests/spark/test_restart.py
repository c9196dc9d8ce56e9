"""Restarted queries: they replay the same batch, or continue exactly after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kinesis_core.model import MAX_PLAIN_SHARDS, Offset
from kinesis_emulator import Emulator, Fault, Request
from support.checks import is_check
from support.servers import both_ways, witnessed
from support.spark_harness import Query
from support.streams import StreamUnderTest

pytestmark = pytest.mark.all_sparks
MakeQuery = Callable[..., Query]


@pytest.mark.tests
@both_ways
def test_restart_after_a_committed_batch(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """After a restart, records put meanwhile arrive, and none is repeated."""
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).stop()
    stream.put_numbers(5)
    query.start().wait_for_rows(10)
    assert query.payloads == stream.payloads


@pytest.mark.tests
@witnessed
def test_replay_of_a_batch(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A batch with a lost commit is replayed with the same records, although newer ones exist."""
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5)
    stream.put_numbers(5)
    query.wait_for_rows(10).stop()
    lost = query.lose_last_commit()
    stream.put_numbers(5)
    query.start().wait_for_rows(15)
    first, second = query.runs[lost]
    assert first == second
    assert query.payloads == stream.payloads


@witnessed
def test_replay_of_the_first_batch_from_latest(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A replayed batch 0 uses the LATEST of the first start, not of the second: no record in between is lost."""
    stream.put("before")
    query = make_query(stream.options(startingPosition="LATEST")).start().wait_started().stop()
    assert query.lose_last_commit() == 0
    stream.put("between")
    query.start().wait_for_rows(1)
    stream.put("after")
    assert query.wait_for_rows(2).payloads == [b"between", b"after"]


@both_ways
def test_replay_of_a_first_batch_with_records_from_latest(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """A first batch from LATEST that has records is replayed with them, and the next batch continues after them."""
    numbers = iter(range(8))

    def put_before_each_read(request: Request) -> Fault | None:
        is_page = request.action == "GetRecords" and not is_check(request)
        if is_page and (number := next(numbers, None)) is not None:
            emulator.put(stream.name, str(number))
        return None

    emulator.settings.fault = put_before_each_read
    query = make_query(stream.options(startingPosition="LATEST")).start().wait_started().stop()
    while query.commits()[-1] > 0:
        query.lose_last_commit()
    query.lose_last_commit()
    for name in ("offsets", "commits"):
        _keep_first(query, name)
    query.start().wait(lambda: next(numbers, None) is None, "eighth read").process_all()
    first, second = query.runs[0]
    assert first
    assert first == second
    assert query.payloads == [r.data for r in emulator.records(stream.name)][-len(query.payloads) :]


def _keep_first(query: Query, log: str) -> None:
    """Remove every batch but the first from *log*."""
    for file in (query.checkpoint / log).iterdir():
        if file.name not in ("0", ".0.crc"):
            file.unlink()


@both_ways
def test_cycles_without_data(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """Four stop/start cycles without data cause no error, no rows, and no batches after the first."""
    query = make_query(stream.options()).start().wait_started().stop()
    for _ in range(4):
        query.start().process_all().stop()
    assert (query.rows, query.offsets()) == ([], [0])


@pytest.mark.tests
def test_restart_on_an_offset_of_an_older_release(
    make_stream: Callable[..., StreamUnderTest], make_query: MakeQuery
) -> None:
    """
    A large stream continues from an offset that is not packed, as older releases wrote it, and from a packed one.

    It stays as it is until there are new records, because a batch follows on each new text.
    """
    stream = make_stream(shards=MAX_PLAIN_SHARDS + 1)
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).process_all().stop()
    planned, end = query.offsets(), query.end()
    assert end["version"] == 2
    query.replace_end(Offset.from_json(end).to_json(max_shards=MAX_PLAIN_SHARDS + 1))
    query.start().process_all().stop()
    assert (query.offsets(), query.end()["version"]) == (planned, 1)
    stream.put_numbers(5)
    query.start().wait_for_rows(10).stop()
    assert query.end()["version"] == 2
    stream.put_numbers(5)
    query.start().wait_for_rows(15)
    assert sorted(query.payloads) == sorted(stream.payloads)
