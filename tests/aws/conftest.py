"""A run of the kit as a process, against an emulator in this process, and moto for DynamoDB and STS."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from attrs import define, field

pytest.importorskip("moto")

from kinesis_emulator import Emulator, Limits, Settings
from support.paths import ROOT, python_path
from support.waiting import PATIENCE_S
from support.witness import moto
from tools.aws.__main__ import main
from tools.aws.ledger import Ledger, Run
from tools.aws.rehearsal import ACCOUNT, REGION
from tools.aws.target import Target

KEYS = {
    "AWS_ACCESS_KEY_ID": ACCOUNT,
    "AWS_SECRET_ACCESS_KEY": "example-secret",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def other_services() -> Iterator[str]:
    with moto() as url:
        yield url


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Yield an emulator whose own account is that of the kit. It has a stream of somebody else."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    settings = Settings(
        limits=Limits.unlimited(), account_id=ACCOUNT, resubscribe_after_s=0.1, heartbeat_s=0.2
    )
    with Emulator(settings=settings) as running:
        running.create_stream("orders")
        yield running


@pytest.fixture
def target(emulator: Emulator, other_services: str) -> Target:
    return Target(None, REGION, emulator.endpoint_url, other_services, other_services)


@pytest.fixture
def new_ledger(tmp_path: Path) -> Callable[..., Ledger]:
    def begin(budget_usd: float = 1.0, longest_s: float = 3600) -> Ledger:
        run = Run.begin(ACCOUNT, REGION, budget_usd, longest_s)
        return Ledger.begin(tmp_path / "runs" / run.id, run)

    return begin


ENDS_WITH_STDIN = (
    "import os, threading; threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()"
)
RUN = f"{ENDS_WITH_STDIN}; import runpy; runpy.run_module('tools.aws', run_name='__main__')"


@define
class KitUnderTest:
    """The command, as a process or in this one. No process outlives this one, or the test."""

    emulator: Emulator
    target: Target
    folder: Path
    environment: Mapping[str, str] = field(factory=dict)
    _children: list[tuple[subprocess.Popen[str], int]] = field(factory=list, init=False)
    """Each with an end of the pipe that is its standard input. The system closes it with this process."""

    def arguments(self, *more: str) -> list[str]:
        urls = ("--kinesis-url", self.target.kinesis_url, "--dynamodb-url", self.target.dynamodb_url)
        where = (*urls, "--sts-url", self.target.sts_url, "--region", REGION, "--folder", str(self.folder))
        return [*map(str, where), *more]

    def start(self, *steps: str, budget: str = "2", minutes: float = 10) -> subprocess.Popen[str]:
        limits = ("--budget", budget, "--minutes", str(minutes))
        arguments = self.arguments("--yes", *limits, "--small", "--steps", *steps)
        its_end, our_end = os.pipe()
        child = subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": python_path(), **self.environment},
            stdin=its_end,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.close(its_end)
        self._children.append((child, our_end))
        return child

    def close(self) -> None:
        """End what still runs."""
        for child, our_end in self._children:
            os.close(our_end)
            child.communicate(timeout=PATIENCE_S)

    def run(self, *steps: str, budget: str = "2") -> tuple[int, str]:
        """Run the steps, and return the exit status and the output."""
        child = self.start(*steps, budget=budget)
        output, _ = child.communicate(timeout=PATIENCE_S)
        return child.returncode, output

    def clean(self, *more: str) -> int:
        return main(["clean", *self.arguments(*more)])

    @property
    def ledger(self) -> Ledger:
        [path] = self.folder.glob("*/ledger.jsonl")
        return Ledger(path.parent)

    def streams(self) -> list[str]:
        client = self.target.client("kinesis")
        names: list[str] = client.list_streams(Limit=1000)["StreamNames"]
        return names

    def tables(self) -> list[str]:
        names: list[str] = self.target.client("dynamodb").list_tables()["TableNames"]
        return names


@pytest.fixture
def kit(
    emulator: Emulator, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KitUnderTest]:
    monkeypatch.setattr("tools.aws.cleaning.LATE_S", 0.5)
    with closing(KitUnderTest(emulator, target, tmp_path / "runs")) as made:
        yield made
