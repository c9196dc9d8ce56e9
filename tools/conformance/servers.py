"""
The servers that the page `faithful` compares, each as it starts by default.

    python -m tools.conformance.servers                starts each, and writes its results into the folder results
    python -m tools.conformance.servers kinesalite     only this one
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

from kinesis_emulator import EmulatorProcess
from support.witness import KINESALITE, KINESIS_LOCAL, kinesalite, kinesis_local, moto
from tools.conformance.calls import Endpoint
from tools.conformance.results import FOLDER, Results
from tools.conformance.running import REAL, Clock, Result, Runner, moved_by
from tools.conformance.scenarios import Scenario, load

STATUS_S = 60.0
"""Long enough for a machine that stands still. Only the runner lets this time pass."""


@contextmanager
def our_emulator(endpoint: Callable[[str], Endpoint] = Endpoint) -> Iterator[Runner]:
    """Yield a runner for our emulator with AWS's limits, whose clock the runner moves on. *endpoint* makes the calls to a URL."""
    with EmulatorProcess(
        unlimited=False,
        stream_creating_s=STATUS_S,
        stream_updating_s=STATUS_S,
        stream_deleting_s=STATUS_S,
        consumer_creating_s=STATUS_S,
        consumer_deleting_s=STATUS_S,
    ) as emulator:
        url = emulator.endpoint_url
        yield Runner(endpoint(url), moved_by(f"{url}/_control/advance", STATUS_S + 1))


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


class Runs(Protocol):
    """What a started server gives: a `Runner` for it."""

    def run_all(self, scenarios: Iterable[Scenario], workers: int = 1) -> Iterator[Result]: ...


@dataclass(frozen=True)
class Server:
    """A server, and how many scenarios it runs at the same time."""

    version: str
    start: Callable[[], AbstractContextManager[Runs]]
    workers: int = 1


def servers() -> dict[str, Server]:
    return {
        "kinesis-emulator": Server(version("kinesis-emulator"), our_emulator),
        "kinesis-local": Server(
            KINESIS_LOCAL.partition("@")[2], lambda: _of(kinesis_local(environment=_OF_KINESIS_LOCAL)), 2
        ),
        # It dies of a scenario, whose neighbour would have no answer either.
        "kinesalite": Server(KINESALITE.partition("@")[2], lambda: _of(kinesalite())),
        "moto": Server(version("moto"), lambda: _of(moto()), 2),
    }


_AFTER_ITS_END = (ConnectionRefusedError.__name__, ConnectionResetError.__name__)


def run_on(server: Server, scenarios: list[Scenario]) -> list[Result]:
    """
    Start *server* and run *scenarios*. It may die of a scenario; those after it get a new one.

    Raises:
        RuntimeError: It refuses all connections.
    """
    found: list[Result] = []
    while scenarios:
        with server.start() as runner:
            results = list(runner.run_all(scenarios, server.workers))
        # Those who connected just before its end are reset. What it died of has no answer, which is another error.
        refused = {one.name for one in results if one.difference.startswith(_AFTER_ITS_END)}
        if len(refused) == len(scenarios):
            raise RuntimeError("The server refuses all connections.")
        found += [one for one in results if one.name not in refused]
        scenarios = [one for one in scenarios if one.name in refused]
    return found


if __name__ == "__main__":
    for chosen in sys.argv[1:] or servers():
        started = servers()[chosen]
        found = run_on(started, load())
        Results.of(chosen, started.version, found).write(FOLDER / f"{chosen}.json")
