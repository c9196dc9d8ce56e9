"""The run that a process of the contract suite belongs to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from attrs import frozen

from tools.aws.guard import Guard
from tools.aws.kit import wait_until_usable
from tools.aws.ledger import Ledger
from tools.aws.target import Target

AWS = "aws"
"""The name of the server in the suite."""
FOLDER, TARGET = "KINESIS_DAY_FOLDER", "KINESIS_DAY_TARGET"
"""Variables that `steps/contract.py` sets. Without them the suite starts its own servers."""


@frozen
class ContractRun:
    ledger: Ledger
    target: Target

    @classmethod
    def of_this_process(cls) -> ContractRun | None:
        if FOLDER not in os.environ:
            return None
        return cls(Ledger(Path(os.environ[FOLDER])), Target.load(os.environ[TARGET]))

    def environment(self) -> dict[str, str]:
        return {FOLDER: str(self.ledger.folder), TARGET: self.target.dump()}

    def client(self) -> Any:
        return Guard(self.ledger).stand_before(self.target.client("kinesis"))

    def name(self, what: str) -> str:
        return f"{self.ledger.run.prefix}contract-{what}"

    wait_until_usable = staticmethod(wait_until_usable)
