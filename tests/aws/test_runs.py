"""Whole runs of the command, against servers that are kind and unkind: budget, kills, failures, and what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from attrs import asdict

from aws.conftest import KitUnderTest
from kinesis_emulator import Emulator, Fault, FaultScript, Limits, RandomFaults, Step
from support.loops import variants
from support.paths import ROOT, python_path
from support.waiting import PATIENCE_S, wait_until
from tools.aws import report
from tools.aws.__main__ import main
from tools.aws.kit import SMALL
from tools.aws.ledger import Ledger, Resource, RunningError
from tools.aws.plan import STEPS, planned
from tools.aws.prices import cost
from tools.aws.rehearsal import ACCOUNT, REGION
from tools.aws.report import Report

GOOD, BAD, NOTHING_DONE, LEFT = range(4)
QUICK = ("trimming", "deleted")
NAMES = [step.name for step in STEPS]


@pytest.fixture(autouse=True)
def others_stay(emulator: Emulator) -> Iterator[None]:
    """Check that the stream of somebody else is not called in any test, and is there afterwards."""
    yield
    assert emulator.calls.count(stream="orders") == 0
    assert emulator.has_stream("orders")


def report_of(kit: KitUnderTest) -> Report:
    return report.read(kit.ledger.folder / "report.json")


def outcomes(kit: KitUnderTest) -> dict[str, str]:
    return {step.name: step.outcome for step in report_of(kit).steps}


def check_nothing_is_left(kit: KitUnderTest) -> None:
    assert kit.streams() == ["orders"]
    assert [name for name in kit.tables() if name.startswith(kit.ledger.run.prefix)] == []
    assert kit.ledger.left() == []


@pytest.mark.everything
@pytest.mark.timeout(600)
def test_the_whole_kit(kit: KitUnderTest) -> None:
    """All steps pass against the emulator, use no more than was said, and leave nothing behind. The report has nobody's names."""
    pytest.importorskip("pyspark")
    kit.emulator.settings.limits = Limits()
    status, output = kit.run(*NAMES)
    made = report_of(kit)
    assert (status, outcomes(kit)) == (GOOD, dict.fromkeys(NAMES, "passed")), output
    assert 0 < made.spent_usd <= cost(planned(STEPS, SMALL), REGION)
    check_nothing_is_left(kit)
    for name in ("report.json", "report.md"):
        text = (kit.ledger.folder / name).read_text()
        assert not any(word in text for word in (kit.ledger.run.account, kit.ledger.run.id, "arn:aws"))


def test_a_short_run(kit: KitUnderTest) -> None:
    """What it will do and cost comes before everything else, then each step with its outcome."""
    status, output = kit.run(*QUICK)
    assert status == GOOD, output
    assert output.index("charge nothing") < output.index("It costs at most") < output.index("its ledger is")
    assert "2 of 2 steps passed\n" in output
    assert outcomes(kit) == {"deleted": "passed", "trimming": "passed"}
    found = report_of(kit)
    assert found.facts["recreated_old_latest"]["value"] == "InvalidArgumentException"
    assert {each["question"] for each in found.not_asked} >= {
        "How coarse is trimming: do records leave one by one, or in blocks?"
    }
    check_nothing_is_left(kit)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--yes"], "--yes needs --budget"),
        (["--yes", "--budget", "1", "--account", "999999999999"], "The account is not 999999999999"),
        ([], "Nothing was created"),
        (["--yes", "--budget", "1", "--steps", "dreams"], "There is no step dreams"),
    ],
)
def test_what_is_refused(
    kit: KitUnderTest,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    why: str,
) -> None:
    """Nothing is created without an answer, in another account, or for a step that does not exist."""
    monkeypatch.setattr("builtins.input", lambda _: "yes")  # the account id was asked for
    assert main(kit.arguments(*arguments)) == NOTHING_DONE
    assert why in capfd.readouterr().err
    assert kit.emulator.calls.count("CreateStream") == 0


def test_cleaning_where_nothing_is_left(kit: KitUnderTest, capfd: pytest.CaptureFixture[str]) -> None:
    """`clean` says so, and where it looked."""
    assert kit.clean() == GOOD
    assert f"nothing is left in account {ACCOUNT}, {REGION}\n" in capfd.readouterr().out


def test_no_credentials(
    kit: KitUnderTest, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without credentials, or without a region, the error names the option."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    for arguments, option in (((), "--profile"), (("--region", ""), "--region")):
        assert kit.clean(*arguments) == NOTHING_DONE
        assert option in capfd.readouterr().err


@pytest.mark.parametrize("action", ["DeleteStream", "ListTagsForStream", "DescribeStreamSummary"])
def test_permissions_to_delete_come_first(kit: KitUnderTest, action: str) -> None:
    """Without a permission that deleting needs, nothing is created, and the action is named."""
    kit.emulator.settings.deny.add(action)
    status, output = kit.run("trimming")
    assert status == NOTHING_DONE
    assert f"  kinesis:{action}\n" in output
    assert kit.emulator.calls.count("CreateStream") == 0


def test_the_budget_stops_before_a_step(kit: KitUnderTest) -> None:
    """A step that could exceed the budget is not started. Cheaper ones after it are."""
    status, output = kit.run(*QUICK, budget="0.02")
    assert status == BAD, output
    assert outcomes(kit) == {"deleted": "over budget", "trimming": "passed"}
    assert report_of(kit).spent_usd <= 0.02
    check_nothing_is_left(kit)


def test_an_error_does_not_end_a_run(kit: KitUnderTest) -> None:
    """A step whose calls are denied fails, and the report says why. Others follow."""
    kit.emulator.settings.deny.add("PutRecord")
    status, output = kit.run(*QUICK)
    assert status == BAD, output
    assert outcomes(kit) == {"deleted": "failed", "trimming": "passed"}
    assert "AccessDeniedException" in report_of(kit).steps[0].error
    assert f"deleted: its log is {kit.ledger.folder / 'deleted.log'}\n" in output
    assert "1 of 2 steps passed: deleted failed\n" in output
    check_nothing_is_left(kit)


def test_a_run_on_slow_and_forgetful_servers(kit: KitUnderTest) -> None:
    """Slow statuses, late listings, and throttles cost time only. The times are measured."""
    settings = kit.emulator.settings
    settings.stream_creating_s, settings.stream_settling_s, settings.stream_updating_s = 0.6, 0.6, 0.5
    settings.hide_children_s, settings.stream_deleting_s = 0.6, 0.6
    settings.fault = RandomFaults(
        7, 0.1, [Fault("LimitExceededException"), Fault("InternalFailure", status=500)]
    )
    status, output = kit.run("statuses", "trimming")
    facts = report_of(kit).facts
    assert status == GOOD, output
    for name in (
        "stream_creating_s",
        "stream_settling_s",
        "stream_updating_s",
        "stream_deleting_s",
        "children_listed_after_s",
    ):
        assert facts[name]["value"] > 0.2, name
    check_nothing_is_left(kit)


def test_a_step_that_hangs(kit: KitUnderTest) -> None:
    """At its time limit a step is ended, those after the time of the run are not started, and everything is deleted."""
    go_on = threading.Event()

    def hold(request: object) -> None:
        if getattr(request, "action", "") == "GetShardIterator":
            go_on.wait(PATIENCE_S)

    kit.emulator.settings.fault = hold
    child = kit.start(*QUICK, minutes=0.1)
    output, _ = child.communicate(timeout=PATIENCE_S)
    go_on.set()
    assert child.returncode == BAD, output
    assert outcomes(kit) == {"deleted": "timed out", "trimming": "not run"}
    check_nothing_is_left(kit)


def test_a_lost_response_of_a_creation(kit: KitUnderTest) -> None:
    """A stream whose creation was not confirmed is used, and deleted."""
    kit.emulator.settings.fault = FaultScript(Step(Fault(drop_response=True), action="CreateStream", times=1))
    status, output = kit.run("trimming")
    assert status == GOOD, output
    check_nothing_is_left(kit)


def test_what_cannot_be_deleted(kit: KitUnderTest) -> None:
    """Streams that are left are named, and the exit status says so. A later cleaning deletes them."""
    # The first call only asks whether it is allowed.
    kit.emulator.settings.fault = FaultScript(
        Step(Fault("AccessDeniedException"), action="DeleteStream", after_calls=1, times=None)
    )
    status, output = kit.run("trimming")
    assert status == LEFT
    [left] = kit.ledger.left()
    assert f"LEFT: the stream {left.name}: DeleteStream is denied" in output
    assert report_of(kit).left == 1
    kit.emulator.settings.fault = None
    assert kit.clean() == GOOD
    check_nothing_is_left(kit)


class KillsAt:
    """Kills the run when the emulator gets a call on a stream of the run: its *nth* call of *action*."""

    def __init__(self, action: str, nth: int = 1, number: int = signal.SIGKILL) -> None:
        self.action, self.nth, self.number = action, nth, number
        self.pid = 0
        self.was_sent = threading.Event()
        self._seen = 0

    def __call__(self, request: object) -> None:
        if getattr(request, "action", "") == self.action and not self.was_sent.is_set():
            self._seen += 1
            if self._seen == self.nth:
                self.was_sent.set()
                os.kill(self.pid, self.number)


def killed(kit: KitUnderTest, kill: KillsAt, *steps: str) -> int:
    """Start a run that is killed, and return its exit status once it and its processes have ended."""
    child = kit.start(*steps)
    kill.pid = child.pid
    kit.emulator.settings.fault = kill
    child.communicate(timeout=PATIENCE_S)
    kit.emulator.settings.fault = None
    assert kill.was_sent.is_set()
    return child.returncode


@pytest.mark.parametrize("name", variants(NAMES, kept=2))
def test_a_kill_in_each_step(kit: KitUnderTest, name: str) -> None:
    """A run that is killed while a step works leaves streams. `clean` deletes all of them, and nothing else."""
    if name == "spark":
        pytest.importorskip("pyspark")
    assert killed(kit, KillsAt("ListShards"), name) == -signal.SIGKILL
    assert kit.ledger.left()
    wait_for_the_lock(kit)
    assert kit.clean() == GOOD
    check_nothing_is_left(kit)


@pytest.mark.parametrize(
    ("action", "nth"),
    variants(
        [("CreateStream", 1), ("DeleteStream", 2), ("DescribeStreamSummary", 2), ("ListTagsForStream", 2)],
        kept=2,
    ),
)
def test_a_kill_at_each_call(kit: KitUnderTest, action: str, nth: int) -> None:
    """Whatever call a kill interrupts, before it takes effect or after, `clean` deletes what is there."""
    assert killed(kit, KillsAt(action, nth), "trimming") == -signal.SIGKILL
    wait_for_the_lock(kit)
    assert kit.clean() == GOOD
    check_nothing_is_left(kit)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c(kit: KitUnderTest, number: int) -> None:
    """Ctrl-C ends the step and skips the others, and all is deleted before the command ends."""
    assert killed(kit, KillsAt("GetShardIterator", 1, number), *QUICK) == BAD
    assert outcomes(kit) == {"deleted": "not run", "trimming": "not run"}
    check_nothing_is_left(kit)


def test_cleaning_a_run_that_goes_on(kit: KitUnderTest, capfd: pytest.CaptureFixture[str]) -> None:
    """`clean` refuses to delete the streams of a run whose processes are alive."""
    called, go_on = threading.Event(), threading.Event()

    def hold(request: object) -> None:
        if getattr(request, "action", "") == "GetShardIterator":
            called.set()
            go_on.wait(PATIENCE_S)

    child = kit.start("trimming")
    kit.emulator.settings.fault = hold
    assert called.wait(PATIENCE_S)
    assert kit.clean() == NOTHING_DONE
    assert "still going on" in capfd.readouterr().err
    go_on.set()
    child.communicate(timeout=PATIENCE_S)
    assert child.returncode == GOOD
    check_nothing_is_left(kit)


@pytest.mark.skipif(sys.platform != "linux", reason="it opens the pipe of another process in /proc")
def test_a_step_that_outlives_its_run(kit: KitUnderTest) -> None:
    """After a kill of the run its step ends, whatever it waits for. Until then `clean` is refused."""
    called, go_on = threading.Event(), threading.Event()

    def hold(request: object) -> None:
        if getattr(request, "action", "") == "GetShardIterator":
            called.set()
            go_on.wait(PATIENCE_S)

    child = kit.start("trimming")
    kit.emulator.settings.fault = hold
    assert called.wait(PATIENCE_S)
    [step] = psutil.Process(child.pid).children()
    with open(f"/proc/{step.pid}/fd/0", "wb"):  # the step ends when nobody can write to its input any more
        child.kill()
        child.communicate(timeout=PATIENCE_S)
        assert kit.clean() == NOTHING_DONE
    wait_for_the_lock(kit)
    kit.emulator.settings.fault = None
    go_on.set()
    assert kit.clean() == GOOD
    check_nothing_is_left(kit)


def test_a_step_that_starts_after_its_run(kit: KitUnderTest, new_ledger: Callable[..., Ledger]) -> None:
    """A step whose run was killed before the step could look ends too, with all that it has started."""
    go_on = threading.Event()

    def hold(_: object) -> None:
        go_on.wait(PATIENCE_S)

    kit.emulator.settings.fault = hold
    arguments = [str(new_ledger().folder), "trimming", kit.target.dump(), json.dumps(asdict(SMALL))]
    step = subprocess.Popen(
        [sys.executable, "-m", "tools.aws.step_process", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert step.wait(PATIENCE_S) == -signal.SIGKILL
    finally:
        step.kill()
        go_on.set()


def test_cleaning_without_a_ledger(
    kit: KitUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is found by name and tag alone is deleted after a yes, once its run is over."""
    assert killed(kit, KillsAt("GetShardIterator"), "trimming") == -signal.SIGKILL
    wait_for_the_lock(kit)
    elsewhere = KitUnderTest(kit.emulator, kit.target, tmp_path / "elsewhere")
    assert elsewhere.clean("--yes") == LEFT  # the run may go on
    monkeypatch.setattr("tools.aws.cleaning._is_over", lambda _: True)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert elsewhere.clean() == GOOD
    assert len(kit.streams()) == 2
    assert elsewhere.clean("--yes") == GOOD
    assert kit.streams() == ["orders"]
    assert kit.ledger.left() == [Resource("stream", f"{kit.ledger.run.prefix}trimming-stream")]


def wait_for_the_lock(kit: KitUnderTest) -> None:
    """Wait until the process of the step has seen that its parent is gone."""

    def is_free() -> bool:
        try:
            kit.ledger.lock().close()
        except RunningError:
            return False
        return True

    wait_until(is_free)
