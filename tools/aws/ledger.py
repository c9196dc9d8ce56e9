"""
The ledger of a run: what it is about to create, and what it uses. A file that only grows, one line for each entry.

An entry is on the disk before the call is sent. So it names everything that exists, even if the program is killed at any moment;
it may also name what was never created.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import IO, Any

from attrs import asdict, field, frozen

from tools.aws.prices import Usage, add, cost

VERSION = 1
PREFIX = "kinesis-day-"
"""Names of all resources begin with it. The id of the run follows."""
TAG, UNTIL_TAG = "kinesis-day", "kinesis-day-until"
"""The tags of all resources: the id of the run, and when the run is over at the latest."""
_NAME = re.compile(rf"{PREFIX}([0-9a-f]{{12}})-.+")
FILE = "ledger.jsonl"


class BudgetError(Exception):
    """A call was not made, because its cost would exceed the budget."""


class RunningError(Exception):
    """The run is still going on."""


@frozen
class Resource:
    """A stream or a table."""

    kind: str
    """`stream` or `table`."""
    name: str


def run_of(name: str) -> str | None:
    """Return the id of the run that a name says it is of."""
    found = _NAME.fullmatch(name)
    return found and found[1]


@frozen
class Run:
    """The first line of a ledger."""

    account: str
    region: str
    budget_usd: float
    until: str
    id: str = field(factory=lambda: secrets.token_hex(6))
    version: int = VERSION

    @classmethod
    def begin(cls, account: str, region: str, budget_usd: float, longest_s: float) -> Run:
        until = datetime.now(timezone.utc) + timedelta(seconds=longest_s)
        return cls(account, region, budget_usd, until.isoformat(timespec="seconds"))

    @property
    def prefix(self) -> str:
        return f"{PREFIX}{self.id}-"

    @property
    def tags(self) -> dict[str, str]:
        return {TAG: self.id, UNTIL_TAG: self.until}

    def owns(self, name: str) -> bool:
        """Return whether only this run can have given the name."""
        return name.startswith(self.prefix)


@frozen
class Ledger:
    """The ledger in a folder. Several processes of the run may write to it at once."""

    folder: Path

    @classmethod
    def begin(cls, folder: Path, run: Run) -> Ledger:
        folder.mkdir(parents=True)
        ledger = cls(folder)
        ledger._write(asdict(run))
        return ledger

    @property
    def path(self) -> Path:
        return self.folder / FILE

    @property
    def run(self) -> Run:
        first = next(self._entries(), {})
        if first.get("version") != VERSION:
            raise ValueError(f"{self.path} has version {first.get('version')}; this program reads {VERSION}.")
        return Run(**first)

    def creating(self, resource: Resource) -> None:
        self._write({"creating": asdict(resource)})

    def gone(self, resource: Resource) -> None:
        self._write({"gone": asdict(resource)})

    def left(self) -> list[Resource]:
        """Return what was to be created and is not known to be gone, in the order of its creation."""
        found: dict[Resource, None] = {}
        for entry in self._entries():
            if "creating" in entry:
                found[Resource(**entry["creating"])] = None
            elif "gone" in entry:
                found.pop(Resource(**entry["gone"]), None)
        return list(found)

    def use(self, usage: Usage) -> None:
        """
        Note what the next call uses.

        Raises:
            BudgetError: It would exceed the budget.
        """
        run = self.run
        after = cost(add(self.used(), usage), run.region)
        if after > run.budget_usd:
            raise BudgetError(f"${after:.2f} would be spent, and the budget is ${run.budget_usd:.2f}.")
        self._write({"used": dict(usage)})

    def used(self) -> dict[str, float]:
        return add(*(entry["used"] for entry in self._entries() if "used" in entry))

    def spent_usd(self) -> float:
        return cost(self.used(), self.run.region)

    def lock(self) -> IO[str]:
        """
        Return an open file that holds the lock of the run. A process that inherits it holds the lock as well.

        Raises:
            RunningError: A process of the run is alive.
        """
        file = (self.folder / "lock").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise RunningError(f"The run {self.run.id} is still going on.") from None
        return file

    def _write(self, entry: dict[str, Any]) -> None:
        file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            os.write(file, json.dumps(entry).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)

    def _entries(self) -> Iterator[dict[str, Any]]:
        """Yield the complete lines. A kill may have cut off the last one, and its call was not sent then."""
        if self.path.exists():
            for line in self.path.read_bytes().split(b"\n")[:-1]:
                yield json.loads(line)


def ledgers(folder: Path) -> list[Ledger]:
    """Return the ledgers of all runs in *folder*, the oldest first."""
    found = sorted(folder.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime)
    return [Ledger(path.parent) for path in found]
