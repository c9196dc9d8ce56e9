"""
The servers that the page `faithful` compares, each as it starts by default.

    python -m tools.conformance.servers                starts each, and writes its results into the folder results
    python -m tools.conformance.servers kinesalite     only this one
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version

from kinesis_emulator import EmulatorProcess
from support.witness import KINESALITE, KINESIS_LOCAL, kinesalite, kinesis_local, moto
from tools.conformance.calls import Endpoint
from tools.conformance.results import FOLDER, Results
from tools.conformance.running import REAL, Clock, Runner, moved_by
from tools.conformance.scenarios import load

STATUS_S = 60.0
"""Long enough for a machine that stands still. Only the runner lets this time pass."""


@contextmanager
def our_emulator() -> Iterator[Runner]:
    """Yield a runner for our emulator with AWS's limits, whose clock the runner moves on."""
    with EmulatorProcess(
        unlimited=False,
        creating_s=STATUS_S,
        updating_s=STATUS_S,
        deleting_s=STATUS_S,
        consumer_creating_s=STATUS_S,
        consumer_deleting_s=STATUS_S,
    ) as emulator:
        url = emulator.endpoint_url
        yield Runner(Endpoint(url), moved_by(f"{url}/_control/advance", STATUS_S + 1))


@contextmanager
def _of(server: AbstractContextManager[str], clock: Clock = REAL) -> Iterator[Runner]:
    with server as url:
        yield Runner(Endpoint(url), clock)


_STATUS = "500ms"
_OF_KINESIS_LOCAL = {
    "SHARD_LIMIT": "1000",
    **{
        f"{name}_DURATION": _STATUS
        for name in (
            *("CREATE_STREAM", "DELETE_STREAM", "MERGE_SHARDS", "SPLIT_SHARD", "UPDATE_SHARD_COUNT"),
            *("REGISTER_STREAM_CONSUMER", "DEREGISTER_STREAM_CONSUMER"),
            *("START_STREAM_ENCRYPTION", "STOP_STREAM_ENCRYPTION", "UPDATE_STREAM_MODE"),
        )
    },
}
"""Its own times of statuses, and more shards than its 50, because a deleted stream keeps its shards for a while."""


@dataclass(frozen=True)
class Server:
    """A server, and how many scenarios it runs at the same time."""

    version: str
    start: Callable[[], AbstractContextManager[Runner]]
    workers: int = 1


def servers() -> dict[str, Server]:
    return {
        "kinesis-emulator": Server(version("kinesis-emulator"), our_emulator),
        "kinesis-local": Server(
            KINESIS_LOCAL.partition("@")[2], lambda: _of(kinesis_local(environment=_OF_KINESIS_LOCAL)), 2
        ),
        "kinesalite": Server(KINESALITE.partition("@")[2], lambda: _of(kinesalite()), 2),
        "moto": Server(version("moto"), lambda: _of(moto()), 2),
    }


def measure(name: str) -> Results:
    """Start the server *name*, and return its results."""
    server = servers()[name]
    with server.start() as runner:
        return Results.of(name, server.version, runner.run_all(load(), server.workers))


if __name__ == "__main__":
    for chosen in sys.argv[1:] or servers():
        measure(chosen).write(FOLDER / f"{chosen}.json")
