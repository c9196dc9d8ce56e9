"""The outcomes of runs and their table."""

from __future__ import annotations

from collections import Counter

from attrs import evolve

from tools.chaos.outcome import Outcome, kills_of, read_table, table
from tools.chaos.script import KINDS

RUN = Outcome(
    seed=7,
    rounds=2,
    kills=Counter(dict.fromkeys(KINDS, 4)),
    reshards=2,
    faults=1234,
    restarts=1,
    batches=20,
    records=5000,
    seconds=90.0,
)


def test_table() -> None:
    """The table has a line for each run, with its seed and its problems, and the sums."""
    bad = evolve(RUN, seed=8, problems=("1 not in the files",))
    lines = table([RUN, bad]).splitlines()
    assert lines[2] == "| 7 | 2 | 4 | 4 | 4 | 4 | 2 | 1,234 | 1 | 20 | 5,000 | 1.5 | all kept |"
    assert lines[3].endswith("| 1 not in the files |")
    assert lines[4] == "| all | 4 | 8 | 8 | 8 | 8 | 4 | 2,468 | 2 | 40 | 10,000 | 3.0 |  |"


def test_survived() -> None:
    """A kill counts as survived only if its run kept every promise."""
    assert kills_of([RUN, evolve(RUN, problems=("1 not in the files",))]) == RUN.kills


def test_table_is_read_back() -> None:
    """A page holds its runs, so that others can be added."""
    bad = evolve(RUN, seed=8, problems=("1 not in the files", "2 out of order"))
    assert read_table(f"# Chaos\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n{table([RUN, bad])}\n") == [
        RUN,
        bad,
    ]
