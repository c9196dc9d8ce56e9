"""
Adds to the item `shared` of a table in a file of SQLite until it is killed, and writes a line for each change that was made.

    python tests/unit/kinesis_consumer/stores/item_writer.py FILE NAME
"""

from __future__ import annotations

import itertools
import sys

from kinesis_consumer.stores import SqliteTable, Update


def main(path: str, name: str) -> None:
    table = SqliteTable(path, "counting", wait_s=60)
    table.prepare()
    for number in itertools.count(1):
        update = Update("shared", {}, set={"last": name}, add={"total": 1, name: 1})
        assert table.update(update) is not None
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
