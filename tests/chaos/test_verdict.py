"""The verdict detects every broken promise."""

from __future__ import annotations

from support.chaos.verdict import Row, Stored, judge

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
