"""Tables of items of each kind, which must behave in the same way."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from kinesis_consumer.stores import DynamoTable, ItemTable, MemoryTable, SqliteTable
from kinesis_core.aws import Connection, RetryPolicy
from kinesis_credentials import StaticKeys
from support.fake_stream import FakeClock
from support.streams import KEY_ID, REGION, SECRET
from support.witness import moto

Opener = Callable[[], ItemTable]
KINDS = ("memory", "sqlite", pytest.param("dynamodb", marks=pytest.mark.tests))
"""DynamoDB is that of moto, which takes seconds to start."""


def open_dynamo_table(endpoint_url: str, name: str, **settings: Any) -> DynamoTable:
    """Return a table of a server that creates tables at once, so that nothing waits in fact."""
    connection = Connection(
        (), REGION, credentials=StaticKeys(KEY_ID, SECRET), retry=RetryPolicy(interval_s=0.0)
    )
    return DynamoTable.open(connection, name, endpoint_url, clock=FakeClock(), **settings)


@define(slots=False)  # for the cached property
class Servers:
    """The servers that tables of some kinds need. A context manager."""

    _running: ExitStack = field(factory=ExitStack, init=False)

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @cached_property
    def moto(self) -> str:
        """The endpoint of moto's DynamoDB."""
        return self._running.enter_context(moto())

    @contextmanager
    def opener(self, kind: str, folder: Path) -> Iterator[Opener]:
        """Yield what opens a new table of *kind* once more. All that it opened is closed at the end."""
        with ExitStack() as opened:
            make = self._maker(kind, folder)

            def open_again() -> ItemTable:
                table = make()
                opened.callback(table.close)
                return table

            yield open_again

    def _maker(self, kind: str, folder: Path) -> Opener:
        name = f"items-{uuid.uuid4().hex[:8]}"
        match kind:
            case "memory":
                table = MemoryTable(name)
                return lambda: table
            case "sqlite":
                return lambda: SqliteTable(folder / "leases.db", name)
            case "dynamodb":
                pytest.importorskip("moto")
                return lambda: open_dynamo_table(self.moto, name)
            case _:
                pytest.fail(f"there is no table of the kind {kind}")
