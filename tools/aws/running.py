"""One run: step after step, each in a process of its own, with a time limit and within the budget. Then everything is deleted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from attrs import asdict, define, field

from support.paths import ROOT, python_path
from tools.aws.cleaning import Cleaner, Left
from tools.aws.findings import read as read_findings
from tools.aws.kit import Sizes, Step
from tools.aws.ledger import Ledger
from tools.aws.prices import add, cost
from tools.aws.report import AWS, LOCAL, Report, StepReport, facts_of, not_asked_of, step_report
from tools.aws.target import Target

CLEANING_S = 900.0
"""Kept of the time of a run, for deleting."""


@define
class Running:
    """Plays the steps of one run."""

    target: Target
    ledger: Ledger
    steps: Sequence[Step]
    sizes: Sizes
    longest_s: float
    cleaner: Cleaner
    say: Callable[[str], None]
    now_s: Callable[[], float] = time.monotonic
    _reports: list[StepReport] = field(factory=list, init=False)
    _entries: dict[str, list[dict[str, Any]]] = field(factory=dict, init=False)
    _left: list[Left] = field(factory=list, init=False)
    _is_stopped: bool = field(default=False, init=False)

    def run(self) -> Report:
        """Play all steps, delete everything, and return the report. Ctrl-C and SIGTERM end the step that is played, and skip the rest."""
        started_s = self.now_s()
        with self.ledger.lock() as lock:
            for step in self.steps:
                self._play(step, started_s + self.longest_s - self.now_s(), lock)
            self._clean()
        return self._report(self.now_s() - started_s)

    @property
    def left(self) -> list[Left]:
        return self._left

    def _play(self, step: Step, time_left_s: float, lock: IO[str]) -> None:
        reason = self._reason_to_skip(step, time_left_s)
        if reason is not None:
            outcome, why = reason
            self.say(f"{step.name}: {outcome}. {why}")
            self._reports.append(StepReport(step.name, outcome, error=why))
            return
        self.say(f"{step.name}: {step.what}")
        started_s = self.now_s()
        try:
            outcome = self._outcome(step, min(step.limit_s, time_left_s), lock)
        except KeyboardInterrupt:
            self._is_stopped, outcome = True, "not run"
        seconds = self.now_s() - started_s
        entries = self._entries[step.name] = read_findings(self._findings(step))
        report = step_report(step.name, _judge(outcome, entries), seconds, entries)
        self._reports.append(report)
        self.say(
            f"{step.name}: {report.outcome} after {seconds:.0f} s, ${self.ledger.spent_usd():.2f} counted"
        )
        if report.outcome == "failed":
            self.say(f"{step.name}: its log is {self._log(step)}")
        self._clean()

    def _reason_to_skip(self, step: Step, time_left_s: float) -> tuple[str, str] | None:
        run = self.ledger.run
        if self._is_stopped:
            return "not run", "The run was stopped."
        if time_left_s <= 0:
            return "not run", f"The {self.longest_s / 60:.0f} minutes of the run are over."
        after = cost(add(self.ledger.used(), step.usage(self.sizes)), run.region)
        if after > run.budget_usd:
            return (
                "over budget",
                f"With it the run could cost ${after:.2f}, and the budget is ${run.budget_usd:.2f}.",
            )
        return None

    def _outcome(self, step: Step, limit_s: float, lock: IO[str]) -> str:
        """Return how the process of *step* ended. It has not survived."""
        arguments = [str(self.ledger.folder), step.name, self.target.dump(), json.dumps(asdict(self.sizes))]
        with self._log(step).open("wb") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "tools.aws.step_process", *arguments],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": python_path()},
                stdin=subprocess.PIPE,  # the step ends when it is closed
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the run only, which ends the step
                pass_fds=(lock.fileno(),),
            )
            try:
                child.wait(limit_s)
            except subprocess.TimeoutExpired:
                return "timed out"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)  # also Spark's JVM
                child.communicate()
        return "passed" if child.returncode == 0 else "failed"

    def _log(self, step: Step) -> Path:
        return self.ledger.folder / f"{step.name}.log"

    def _findings(self, step: Step) -> Path:
        return self.ledger.folder / f"{step.name}.jsonl"

    def _clean(self) -> None:
        """Delete what is there. A second Ctrl-C ends it, and `clean` does the rest later."""
        try:
            self._left = self.cleaner.clean(self.ledger)
        except KeyboardInterrupt:
            self._is_stopped = True
            self._left = self.cleaner.clean(self.ledger)

    def _report(self, seconds: float) -> Report:
        run = self.ledger.run
        facts = {
            name: fact
            for step in self.steps
            for name, fact in facts_of(step.name, self._entries.get(step.name, []))
        }
        return Report(
            made=datetime.now(timezone.utc).date().isoformat(),
            against=AWS if self.target.is_aws else LOCAL,
            region=run.region,
            commit=_commit(),
            seconds=round(seconds, 1),
            budget_usd=run.budget_usd,
            spent_usd=round(self.ledger.spent_usd(), 4),
            used=self.ledger.used(),
            steps=tuple(self._reports),
            facts=facts,
            not_asked=tuple(each for entries in self._entries.values() for each in not_asked_of(entries)),
            left=len(self._left),
        )


def _judge(outcome: str, entries: list[dict[str, Any]]) -> str:
    """Return the outcome of a step whose process ended as *outcome* says."""
    if any(entry.get("error", "").startswith("BudgetError") for entry in entries):
        return "over budget"
    if outcome == "passed" and not all(entry["holds"] for entry in entries if "check" in entry):
        return "failed"
    return outcome


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"
