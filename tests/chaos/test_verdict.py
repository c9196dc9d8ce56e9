"""The verdict detects every broken promise."""

from __future__ import annotations

from tools.chaos.driver import End
from tools.chaos.verdict import Row, Stored, judge, judge_play

ONE = Stored("shard-0", 1, "a", b"a 1")
TWO = Stored("shard-0", 2, "a", b"a 2")
AGAIN = Stored("shard-0", 3, "a", b"a 2")
"""The same data again, because the response to the first put was lost."""
OTHER = Stored("shard-1", 1, "b", b"b 1")
STORED = [ONE, TWO, AGAIN, OTHER]
ROWS = [Row(0, "x", 0, ONE), Row(0, "y", 0, OTHER), Row(1, "z", 0, TWO), Row(1, "z", 1, AGAIN)]
DATA = [record.data for record in STORED]


def test_all_is_well() -> None:
    """A record that is twice in the stream is twice in the files. Copies in the second stream do not count."""
    assert judge({b"a 1", b"b 1"}, STORED, ROWS, [*DATA, b"b 1"]) == []


def test_acknowledged_record_is_gone() -> None:
    """An acknowledged record must be in the stream."""
    assert judge({b"a 9"}, STORED, ROWS, DATA) == ["1 acknowledged, but not in the stream: b'a 9'"]


def test_missing_row() -> None:
    """Each record is in the files. Another record with the same data does not replace it."""
    assert judge((), STORED, ROWS[:-1], DATA) == [f"1 not in the files: {AGAIN}"]


def test_row_twice() -> None:
    """No record is in the files twice, in the same batch or in two batches."""
    (twice, order) = judge((), STORED, [*ROWS, Row(2, "w", 0, OTHER)], DATA)
    assert twice == f"1 in the files too often, or not as in the stream: {OTHER}"
    assert order.startswith("1 out of order")


def test_changed_row() -> None:
    """A row with changed data is a missing row and an additional one."""
    changed = Row(0, "y", 0, Stored("shard-1", 1, "b", b"b 2"))
    assert len(judge((), STORED, [ROWS[0], changed, *ROWS[2:]], DATA)) == 2


def test_order_of_batches() -> None:
    """A key's records are in the files in the order of their numbers, batch by batch."""
    swapped = [Row(1, "x", 0, ONE), ROWS[1], Row(0, "z", 0, TWO), Row(1, "x", 1, AGAIN)]
    assert [line[:14] for line in judge((), STORED, swapped, DATA)] == ["1 out of order"]


def test_order_in_a_file() -> None:
    """A key's records are in a file in the order of their numbers."""
    swapped = [*ROWS[:2], Row(1, "z", 1, TWO), Row(1, "z", 0, AGAIN)]
    assert [line[:14] for line in judge((), STORED, swapped, DATA)] == ["1 out of order"]


def test_key_in_two_files() -> None:
    """Files of one batch have no order, so all rows of a key must be in one of them."""
    spread = [*ROWS[:3], Row(1, "w", 0, AGAIN)]
    assert len(judge((), STORED, spread, DATA)) == 1


def test_missing_copy() -> None:
    """The second stream has each record at least as often as the first one."""
    assert judge((), STORED, ROWS, DATA[:2] + DATA[3:]) == ["1 not in the second stream: b'a 2'"]


LOG = """\
26/11/25 15:00:00 WARN TaskSetManager: Lost task 0.0: org.apache.spark.SparkException: Python worker failed to connect back.
Traceback (most recent call last):
  File "job.py", line 75, in main
{}
"""
FAILED = LOG.format(
    "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] no | longer; there"
)
IMPATIENT = LOG.format("Caused by: org.apache.spark.SparkException: Python worker failed to connect back.")


def test_driver_that_ended_by_itself() -> None:
    """It is a problem with its error, unless Spark was impatient: what was said before the end does not count."""
    [problem] = judge_play([End.of(IMPATIENT), End.of(FAILED)], 0, played=0)
    assert problem.startswith(
        "the driver ended by itself: pyspark.errors.exceptions.captured.StreamingQueryException"
    )
    assert problem.endswith("no / longer, there")
    assert judge_play([End.of("killed\n"), End.of("")], 0, played=0) == [
        "the driver ended by itself: killed",
        "the driver ended by itself: ",
    ]


def test_reshards_that_did_not_happen() -> None:
    """The stream has had as many splits and merges as were played."""
    assert judge_play([], 2, played=2) == []
    assert judge_play([], 1, played=2) == ["2 reshards were played, but the stream has had 1"]
    assert len(judge_play([], 2, played=1)) == 1
