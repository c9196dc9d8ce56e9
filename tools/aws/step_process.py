"""
The process of one step. The run starts it, and kills it at its time limit.

    python -m tools.aws.step_process FOLDER STEP TARGET SIZES
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from tools.aws.findings import Findings
from tools.aws.kit import Kit, Sizes
from tools.aws.ledger import Ledger
from tools.aws.plan import choose
from tools.aws.target import Target

LOOK_S = 0.2


def main(folder: str, step_name: str, target: str, sizes: str) -> int:
    end_with_parent()
    [step] = choose([step_name])
    ledger = Ledger(Path(folder))
    findings = Findings(ledger.folder / f"{step.name}.jsonl")
    kit = Kit(Target.load(target), ledger, findings, Sizes(**json.loads(sizes)), step.name)
    try:
        step.run(kit)
    except Exception as error:  # noqa: BLE001 # the report has it, and other steps follow
        findings.failed(error)
        return 1
    findings.ended()
    return 0


def end_with_parent() -> None:
    """End this process when its parent is gone, whatever it does. The ledger has all that it has made."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_S)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
