"""The outcome of a run, and the table of several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import frozen

from tools.chaos.script import KINDS, Kind

_HEAD = """\
| seed | rounds | executors | Python workers | drivers | Kinesis | reshards | faulty calls | restarts | batches | records | minutes | verdict |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""
_COLUMNS = _HEAD.partition("\n")[0].count("|") - 1
_KEPT = "all kept"


@frozen
class Outcome:
    """One run. *problems* lists what is wrong at the end."""

    seed: int
    rounds: int
    kills: Counter[Kind]
    reshards: int
    faults: int
    restarts: int
    """The number of times that the driver ended by itself and was restarted: only by Spark's impatience, or it is a problem."""
    batches: int
    records: int
    seconds: float
    problems: tuple[str, ...] = ()


def kills_of(outcomes: Sequence[Outcome]) -> Counter[Kind]:
    """Return the number of kills of each kind that were survived, in runs without a problem."""
    survived: Counter[Kind] = Counter(dict.fromkeys(KINDS, 0))
    for outcome in outcomes:
        if not outcome.problems:
            survived.update(outcome.kills)
    return survived


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a line for each run, and their sums."""
    sums = Outcome(
        0,
        sum(one.rounds for one in outcomes),
        sum((one.kills for one in outcomes), Counter()),
        sum(one.reshards for one in outcomes),
        sum(one.faults for one in outcomes),
        sum(one.restarts for one in outcomes),
        sum(one.batches for one in outcomes),
        sum(one.records for one in outcomes),
        sum(one.seconds for one in outcomes),
    )
    lines = [_line(str(one.seed), one, "; ".join(one.problems) or _KEPT) for one in outcomes]
    return _HEAD + "\n".join([*lines, _line("all", sums, "")])


def read_table(page: str) -> list[Outcome]:
    """Return the runs in the table of *page*, as `table` wrote it."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    return [_outcome(row) for row in cells if len(row) == _COLUMNS and row[0].isdecimal()]


def _outcome(row: list[str]) -> Outcome:
    seed, rounds, *killed, reshards, faults, restarts, batches, records = (
        int(cell.replace(",", "")) for cell in row[:-2]
    )
    minutes, result = row[-2:]
    kills: Counter[Kind] = Counter(dict(zip(KINDS, killed, strict=True)))
    problems = () if result == _KEPT else tuple(result.split("; "))
    return Outcome(
        seed, rounds, kills, reshards, faults, restarts, batches, records, float(minutes) * 60, problems
    )


def _line(name: str, one: Outcome, result: str) -> str:
    counts = [one.rounds, *(one.kills[kind] for kind in KINDS), one.reshards, one.faults, one.restarts]
    counts += [one.batches, one.records]
    cells = [name, *(f"{count:,}" for count in counts), f"{one.seconds / 60:.1f}", result]
    return f"| {' | '.join(cells)} |"
