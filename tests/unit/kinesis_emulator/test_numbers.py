from __future__ import annotations

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


def test_only_plain_decimals_are_sequence_numbers() -> None:
    """A number has the form of AWS's API model: no sign, no leading zero, at most 129 digits."""
    assert [numbers.is_decimal(text) for text in ("0", "12", "9" * 129)] == [True] * 3
    assert [numbers.is_decimal(text) for text in ("", "-1", "01", "9" * 130, "1e3")] == [False] * 5
