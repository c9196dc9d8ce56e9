"""
The process of one step. The run starts it, and kills it at its time limit.

    python -m tools.aws.step_process FOLDER STEP TARGET SIZES
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from tools.aws.findings import Findings
from tools.aws.kit import Kit, Sizes
from tools.aws.ledger import Ledger
from tools.aws.plan import choose
from tools.aws.target import Target


def main(folder: str, step_name: str, target: str, sizes: str) -> int:
    end_with_run()
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


def end_with_run() -> None:
    """
    End this process, and all that it has started, when its run is gone, whatever it does: its standard input ends then.

    The run has made it the first of its group. The ledger has all that it has made.
    """

    def end() -> None:
        os.read(0, 1)
        os.killpg(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
