"""
Measure one question, and print what was found as JSON.

    python -m tools.group_bench rates --records 200000 --turns 3
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.kcl.dynamodb_local import DynamoDbLocal
from tools.group_bench.calls import measure_calls
from tools.group_bench.hand_over import measure_hand_overs
from tools.group_bench.rate import measure_rates


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="group_bench")
    parser.add_argument("question", choices=("rates", "hand-overs", "calls"))
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        DynamoDbLocal.start(Path(folder, "dynamodb.log")) as dynamodb,
    ):
        found: Any = None
        if options.question == "rates":
            found = measure_rates(options.records, options.turns, dynamodb, Path(folder))
        elif options.question == "calls":
            found = measure_calls(options.seconds, dynamodb, Path(folder))
        else:
            found = measure_hand_overs(options.turns, dynamodb, Path(folder))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
