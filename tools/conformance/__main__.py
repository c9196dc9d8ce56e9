"""
Measures a server of Kinesis by all scenarios.

    python -m tools.conformance http://127.0.0.1:4567
    python -m tools.conformance http://127.0.0.1:4567 --only tags- --name moto --version 5.2.5 --write results/moto.json

It prints a line for each scenario that differs, and their number. Its status is 0 even then.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from tools.conformance.calls import Endpoint, Keys
from tools.conformance.results import Results
from tools.conformance.running import REAL, Result, Runner, moved_by
from tools.conformance.scenarios import load


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tools.conformance", description=__doc__.splitlines()[1])
    parser.add_argument("url", help="the endpoint")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument(
        "--only", default="", help="a regular expression: only scenarios whose names have a match"
    )
    parser.add_argument(
        "--advance", metavar="URL", help="where a POST of {seconds} moves the server's clock on"
    )
    parser.add_argument(
        "--keys-from-environment",
        action="store_true",
        help="sign with AWS_ACCESS_KEY_ID and the others, for AWS",
    )
    parser.add_argument(
        "--look-s", type=float, default=REAL.look_s, help="time between two looks at a status"
    )
    parser.add_argument("--workers", type=int, default=1, help="scenarios at the same time")
    parser.add_argument("--name", default="server")
    parser.add_argument("--version", default="")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the results as JSON")
    given = parser.parse_args(arguments)
    clock = moved_by(given.advance, 61) if given.advance else replace(REAL, look_s=given.look_s)
    runner = Runner(Endpoint(given.url, given.region, _keys(given.keys_from_environment)), clock)
    chosen = [one for one in load() if re.search(given.only, one.name)]
    results: list[Result] = []
    for result in runner.run_all(chosen, given.workers):
        results.append(result)
        if result.difference:
            print(f"{result.name}: {result.difference}", flush=True)  # noqa: T201 - a command
    passed = sum(not one.difference for one in results)
    print(f"{passed} of {len(results)} scenarios passed")  # noqa: T201
    if given.write:
        Results.of(given.name, given.version, results).write(given.write)
    return 0


def _keys(from_environment: bool) -> Keys:
    if not from_environment:
        return Keys()
    token = os.environ.get("AWS_SESSION_TOKEN")
    return Keys(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"], token)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
