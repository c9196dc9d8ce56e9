"""The complaints of a soak about what it has measured."""

from __future__ import annotations

import pytest
from attrs import evolve

from tools.soak.load import Measured
from tools.soak.processes import READER, Holding
from tools.soak.report import complaints
from tools.soak.verdict import JUDGED, Look

LOOKS = [Look(step, {kind: Holding(1, 90_000, 20, 10, 8) for kind in JUDGED}) for step in range(12)]
GOOD = Measured(LOOKS, LOOKS, records=4, rows=4, sums=(0 + 1 + 2 + 3, 0 + 1 + 4 + 9), impatience=0, hours=1.0)


def test_all_is_well() -> None:
    """Nothing grows, and each record was read once. Restarts by an impatient Spark are no complaint."""
    assert complaints(GOOD) == []
    assert complaints(evolve(GOOD, impatience=2)) == []


def test_a_record_that_was_not_read() -> None:
    """Each record that was put must be read."""
    found = complaints(evolve(GOOD, rows=3, sums=(3, 5)))
    assert found == ["4 records were put, but 3 read"]


@pytest.mark.parametrize("read", [[0, 1, 2, 2], [0, 2, 2, 2]])
def test_a_record_that_stands_for_another_one(read: list[int]) -> None:
    """A record that is read twice does not make up for one that is not read."""
    sums = sum(read), sum(number * number for number in read)
    assert complaints(evolve(GOOD, sums=sums)) == [
        "as many records were read as were put, 4, but not the same"
    ]


@pytest.mark.parametrize("part", [slice(0, 9), slice(4, 12)])
def test_a_process_that_is_not_measured(part: slice) -> None:
    """Each kind is measured for long enough to be judged."""
    looks = list(LOOKS)
    looks[part] = [
        Look(each.step, {k: v for k, v in each.held.items() if k != READER}) for each in looks[part]
    ]
    assert complaints(evolve(GOOD, restarts=looks)) == ["over restarts, streaming reader was not measured"]
