from __future__ import annotations

import pytest

from kinesis_emulator import numbers


def test_a_number_has_56_digits_and_encodes_its_shard() -> None:
    """Sequence numbers have 56 digits, as on AWS, and decode to shard, index and time."""
    base = numbers.shard_base(1_700_000_000, 17)
    text = numbers.encode(base, 5, 1_700_000_123)
    assert len(text) == 56
    assert numbers.decode(text) == numbers.SequenceNumber(1_700_000_000, 17, 5, 1_700_000_123)


def test_neighbours_are_at_least_2_to_the_80_apart() -> None:
    """The numbers of two successive records differ by 2**80, or a bit more when time has passed."""
    base = numbers.shard_base(1_700_000_000, 0)
    first, second = (int(numbers.encode(base, i, 1_700_000_000)) for i in (1, 2))
    assert second - first == 2**80


def test_a_later_shard_has_the_higher_numbers() -> None:
    """Every number of a shard that was opened later is above the last possible one of an earlier shard."""
    parent = numbers.encode(numbers.shard_base(1_700_000_000, 9), numbers.LAST_INDEX, 1_800_000_000)
    child = numbers.encode(numbers.shard_base(1_700_000_001, 10), 0, 1_700_000_001)
    assert int(child) > int(parent)


def test_other_numbers_do_not_decode() -> None:
    """A computed number, a small one, or one of another scheme is detected."""
    real = int(numbers.encode(numbers.shard_base(1_700_000_000, 3), 5, 1_700_000_000))
    assert [numbers.decode(str(number)) for number in (real + 1, 7, 0, 2**63 - 1, real * 10)] == [None] * 5


def test_numbers_of_requests_that_aws_reads() -> None:
    """A request may have numbers of older versions, and 0. The index has 31 bits; with more it counts as negative."""
    read = {
        text: numbers.read(text)
        for text in ("0", "5", *(str(0x2 << 184 | low) for low in (1, 2, 0x800000002)))
    }
    assert [number and number.shard_index for number in read.values()] == [0, 5, 0, 0, -(2**31)]
    timed = numbers.encode(numbers.shard_base(1_700_000_000, 3), 5, 1_700_000_123)
    assert numbers.read(timed) == numbers.GivenNumber(3, 1_700_000_123)


@pytest.mark.parametrize(
    "hexadecimal",
    [
        "20000000000000000000000000000000000000000000000",
        "20000000000000000000000000000000000000000000003",
        "30000000000000000000000000000000000000000000001",
        "1ffffffffff7fffffffffffffff000000000007fffffff2",
        "20000000000800000000000000000000000000000000002",
        "2ffffffffff7fffffffffffffff000000000007fffffff2",
        "13bb2cc3d80000000000000000000000",
    ],
)
def test_numbers_of_requests_that_aws_refuses(hexadecimal: str) -> None:
    """Other versions, a negative index of a record and a shard of the far future are no sequence numbers."""
    assert numbers.read(str(int(hexadecimal, 16))) is None
