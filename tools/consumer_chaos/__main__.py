"""
Kill, stop and pause workers of a consumer group, and split and merge the shards that they read. Judge what they did.

    python -m tools.consumer_chaos --workers 5 --kills 60 --records 200000

The exit status is 1 if a promise was broken. Then the folder with the journals and logs stays.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tools.consumer_chaos.run import run
from tools.consumer_chaos.script import Plan


def main(arguments: list[str]) -> int:
    plan, keeps_folder = _parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # it must end the workers, too
    folder, started_s = Path(tempfile.mkdtemp(prefix="consumer-chaos-")), time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - started_s:5.0f} s: {text}\n")
        sys.stdout.flush()

    outcome = run(plan, folder, say)
    for line in outcome.lines():
        say(line)
    if outcome.problems or keeps_folder:
        say(f"see {folder}")
    else:
        shutil.rmtree(folder)
    return int(bool(outcome.problems))


def _parse(arguments: list[str]) -> tuple[Plan, bool]:
    parser = argparse.ArgumentParser(
        prog="consumer_chaos", description="Disturb a group, and see what comes of it."
    )
    parser.add_argument("--seed", type=int, default=1)
    for name, count in (("workers", 5), ("records", 200_000), ("kills", 60), ("stops", 20), ("pauses", 6)):
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N", help=f"default: {count}")
    parser.add_argument("--reshards", type=int, default=24, metavar="N", help="default: 24")
    parser.add_argument("--keep", action="store_true", help="leave the folder in any case")
    options = vars(parser.parse_args(arguments))
    return Plan(**{name: value for name, value in options.items() if name != "keep"}), options["keep"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
