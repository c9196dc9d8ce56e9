"""What the workers of one application did together: whether each record came, and came again only if it was not committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from support.kcl.event_process import Event

Position = tuple[int, int]
END: Position = (10**128, 0)
"""Behind all records of a shard."""


@define(eq=False)
class Turn:
    """The time in which one worker had one shard, or believed that it had."""

    began: int
    last: Position = (-1, 0)
    """The last record that was delivered."""
    committed: list[tuple[int, Position]] = field(factory=list)
    """When it said so, and up to which record."""
    left: Position = (-1, -1)
    """The checkpoint in the table when the worker had died: what it committed then without saying so."""

    def commit_of(self, position: Position) -> int | None:
        """Return when the record was committed; None if it was not."""
        return next((at for at, end in self.committed if position <= end), None)


@frozen
class Delivery:
    """One time that a worker had one user record."""

    at: tuple[int, int]
    """When, by the steady clock of the machine, and which one of those that came together."""
    shard: str
    position: Position
    key: str
    data: str
    turn: Turn

    @property
    def committed(self) -> int | None:
        return self.turn.commit_of(self.position)

    @property
    def is_over(self) -> bool:
        """Whether the record need not come again."""
        return self.committed is not None or self.position <= self.turn.left


@frozen
class Verdict:
    """Data of user records, in the order in which they were put."""

    lost: list[str]
    """Never delivered."""
    uncommitted: list[str]
    """Delivered, but by nobody committed. While workers run this may change."""
    unwritten: list[str]
    """Committed by a worker's word, but not by the table of leases."""
    repeated: list[str]
    """Delivered more than once."""
    unexplained: list[str]
    """Committed by two workers, delivered to one that got the shard after they were committed, or twice in one turn."""
    disordered: list[str]
    """Processed before an earlier record of the same partition key was."""
    crashed: list[str] = field(factory=list)
    """Workers, by their number, that ended by themselves."""

    @property
    def faults(self) -> dict[str, list[str]]:
        found = {
            "lost": self.lost,
            "uncommitted": self.uncommitted,
            "unwritten": self.unwritten,
            "unexplained": self.unexplained,
            "disordered": self.disordered,
            "crashed": self.crashed,
        }
        return {name: data for name, data in found.items() if data}

    @property
    def open(self) -> int:
        """The number of records that somebody still has to commit."""
        return len(self.lost) + len(self.uncommitted)


def judge(
    printed: Iterable[Sequence[Event]], sent: Sequence[str], leases: Mapping[str, Mapping[str, Any]]
) -> Verdict:
    """
    Judge by the events that each worker printed. *sent* are the numbers that were put, in order, and *leases* those of a later moment.

    A worker that is killed may have committed without saying so, as the leases of that moment say (the event `left`). Its records
    need not come again then.
    """
    by_data: dict[str, list[Delivery]] = {}
    crashed: list[str] = []
    unexplained: set[str] = set()
    for number, events in enumerate(printed):
        kinds = {event["event"] for event in events}
        if "left" in kinds and not kinds & {"stopped", "killed", "halted"}:
            crashed.append(str(number))
        deliveries, twice = _read(events)
        unexplained |= twice
        for each in deliveries:
            by_data.setdefault(each.data, []).append(each)
    for each_time in by_data.values():
        each_time.sort(key=lambda delivery: delivery.at)
    unexplained |= {data for data, each_time in by_data.items() if not _is_explained(each_time)}
    return Verdict(
        [data for data in sent if data not in by_data],
        [data for data, each_time in by_data.items() if not any(each.is_over for each in each_time)],
        [
            data
            for data, each_time in by_data.items()
            if any(
                each.committed is not None and each.position > reached(leases, each.shard)
                for each in each_time
            )
        ],
        [data for data in sent if len(by_data.get(data, ())) > 1],
        sorted(unexplained | (by_data.keys() - set(sent)), key=int),
        _disordered(by_data.values()),
        crashed,
    )


def _is_explained(each_time: Sequence[Delivery]) -> bool:
    """
    Return whether a record was delivered again only because it was not committed.

    A worker whose lease was taken may deliver what it has, until it finds out. It cannot commit that.
    """
    commits = [at for delivery in each_time if (at := delivery.committed) is not None]
    return len(commits) <= 1 and all(at > delivery.turn.began for at in commits for delivery in each_time)


def _read(events: Iterable[Event]) -> tuple[list[Delivery], set[str]]:
    """Return what a worker had, and what came out of order in one turn."""
    turns: dict[str, Turn] = {}
    found: list[Delivery] = []
    twice: set[str] = set()
    held: set[str] = set()
    is_orderly = False
    for event in events:
        is_orderly |= event["event"] == "stopped"
        kind, shard = event["event"], event.get("shard", "")
        if kind == "initialized":
            turns[shard] = Turn(event["at"])
            held.add(shard)
        elif kind == "leaseLost":
            held.discard(shard)
        elif kind == "checkpointed":
            number, sub = event["checkpoint"]
            end = (int(number), sub) if str(number).isdigit() else turns[shard].last
            turns[shard].committed.append((event["at"], end))
        elif kind == "left" and not is_orderly:
            for each in held:
                turns[each].left = reached(event["leases"], each)
        elif kind == "records":
            turn = turns[shard]
            for index, (number, sub, key, data) in enumerate(event["records"]):
                position = int(number), sub
                if position <= turn.last:
                    twice.add(data)
                turn.last = position
                found.append(Delivery((event["at"], index), shard, position, key, data, turn))
    return found, twice


def reached(leases: Mapping[str, Mapping[str, Any]], shard: str) -> Position:
    """Return up to where a shard is committed. A lease that is gone was deleted after the end of its shard."""
    lease = leases.get(shard, {"checkpoint": "SHARD_END"})
    if lease["checkpoint"] == "SHARD_END":
        return END
    is_number = lease["checkpoint"].isdigit()
    return (int(lease["checkpoint"]), lease["checkpointSubSequenceNumber"]) if is_number else (-1, -1)


def _disordered(all_deliveries: Iterable[Sequence[Delivery]]) -> list[str]:
    newest: dict[str, int] = {}
    found = []
    processed = [
        next((each for each in each_time if each.committed is not None), each_time[-1])
        for each_time in all_deliveries
    ]
    for each in sorted(processed, key=lambda delivery: delivery.at):
        number = int(each.data)
        if number < newest.get(each.key, -1):
            found.append(each.data)
        newest[each.key] = max(number, newest.get(each.key, -1))
    return sorted(found, key=int)
