"""
Kill parts of a Spark cluster and of a Kinesis while two queries run, and judge the results.

    python -m tools.chaos                         run seeds until 100 of each kind were killed
    python -m tools.chaos --seeds 7 --rounds 5    run only these seeds, for example to replay one; writes nothing

The first form continues after the seeds in docs/reliability.md, and adds each seed there once it is done. `--afresh` begins
with seed 1.

The exit status is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from docs.sections import write_section
from tools.chaos.outcome import Outcome, kills_of, read_table, table
from tools.chaos.run import run

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_ABOUT = """\
A standalone Spark cluster with two workers reads a stream of eight shards, with speculation on. It writes the records to Parquet
files with Spark's file sink, and to a second stream with our sink. A producer writes all the time. Each round kills two executors, two
Python workers, the driver twice and the local Kinesis twice, with `kill -9`, in the middle of micro-batches. Each round also splits or
merges a shard, and makes up to a fifth of all calls fail. In every second round both queries run with `availableNow`, one run after the
other, and the number of shards changes twice between two runs. The seed decides the order and the times. No query may fail of that.
Only if Spark gave up a Python process that took more than 10 s to start, the driver was restarted (restarts). At the end the files must
hold each record exactly once and in order per key, and the second stream must hold each record at least once.

A seed is played again by `python3 noxfile.py -s chaos -- --seeds SEED --rounds ROUNDS`; [a test](../tests/chaos/test_chaos.py)
plays one round of each kind."""


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    # A signal that stops this program must end the cluster too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    outcomes = [_run(seed, options.rounds) for seed in options.seeds] or _run_all(options)
    sys.stdout.write(f"{table(outcomes)}\n")
    return int(any(outcome.problems for outcome in outcomes))


def _run_all(options: argparse.Namespace) -> list[Outcome]:
    """Run seeds until enough kills were survived, and keep the page up to date."""
    outcomes = [] if options.afresh else read_table(PAGE.read_text())
    while min(kills_of(outcomes).values()) < options.kills:
        outcomes.append(_run(max((one.seed for one in outcomes), default=0) + 1, options.rounds))
        write_section(PAGE, "chaos", f"{_ABOUT}\n\n{table(outcomes)}")
    return outcomes


def _run(seed: int, rounds: int) -> Outcome:
    """Run one seed. Its folder stays if there is a problem."""
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
    started = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - started:5.0f} s, seed {seed}: {text}\n")
        sys.stdout.flush()

    outcome = run(seed, rounds, folder, say)
    if outcome.problems:
        say(f"see {folder}")
    else:
        shutil.rmtree(folder)
    return outcome


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chaos", description="Kill what runs, and see what comes of it.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[], metavar="N", help="play only these")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each seed; default: 5")
    parser.add_argument("--afresh", action="store_true", help="begin with seed 1")
    parser.add_argument(
        "--kills", type=int, default=100, metavar="N", help="of each kind before it ends; default: 100"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
