"""The committed results of the conformance suite, which the page `faithful` shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, repeat

import pytest

from support.witness import KINESALITE, KINESIS_LOCAL
from tools.conformance.results import Results, read_all
from tools.conformance.running import Result
from tools.conformance.scenarios import HERE, Scenario, load
from tools.conformance.servers import Server, run_on, servers

RESULTS = {one.server: one for one in read_all()}
UNFIT = {"put-data-over-10-mib", "shards-token-invalid"}
"""kinesis-local takes half a minute for the first, and kinesalite dies of the second."""
STATELESS = [
    one
    for one in load()
    if not one.before and one.step.until is None and one.step.times == 1 and one.name not in UNFIT
]
"""They need no stream, so that their results do not depend on times."""
EACH = pytest.mark.parametrize("results", RESULTS.values(), ids=RESULTS.keys())


@EACH
def test_results_are_complete(results: Results) -> None:
    """Every server was measured by every scenario. After a new scenario: `python3 noxfile.py -s conformance`."""
    assert sorted([*results.passed, *results.differences]) == sorted(one.name for one in load())


def test_results_of_the_emulator() -> None:
    """The emulator passed all scenarios but those of the known differences."""
    known = json.loads((HERE / "known_differences.json").read_text(encoding="utf-8"))
    assert RESULTS["kinesis-emulator"].differences.keys() == known.keys(), (
        "Measure it again: python3 noxfile.py -s conformance -- kinesis-emulator"
    )


def test_versions() -> None:
    """The results are those of the servers that other tests compare with."""
    assert {f"{name}@{RESULTS[name].version}" for name in ("kinesis-local", "kinesalite")} == {
        KINESIS_LOCAL,
        KINESALITE,
    }


class Mortal:
    """A runner whose server dies of the scenario *fatal*."""

    def __init__(self, fatal: str) -> None:
        self._fatal = fatal

    def run_all(self, scenarios: Iterable[Scenario], workers: int = 1) -> Iterator[Result]:
        assert workers == 1
        after: Iterator[str] = repeat("")
        for one in scenarios:
            yield Result(one.name, next(after))
            if one.name == self._fatal:
                after = chain(["ConnectionResetError: reset"], repeat("ConnectionRefusedError: refused"))


def test_server_that_dies() -> None:
    """The scenarios after one that kills the server run on a new one. A server that never answers is an error."""
    chosen = load()[:4]
    starts: list[str] = []

    @contextmanager
    def start() -> Iterator[Mortal]:
        starts.append("start")
        yield Mortal(chosen[1].name)

    assert run_on(Server("1", start), chosen) == [Result(one.name) for one in chosen]
    assert len(starts) == 2

    class Dead(Mortal):
        def run_all(self, scenarios: Iterable[Scenario], workers: int = 1) -> Iterator[Result]:
            return iter([Result(one.name, f"ConnectionRefusedError: {workers}") for one in scenarios])

    with pytest.raises(RuntimeError, match="refuses all"):
        run_on(Server("1", lambda: nullcontext(Dead(""))), chosen)


@pytest.mark.witness
@pytest.mark.parametrize("name", sorted(RESULTS.keys() - {"kinesis-emulator"}))
def test_results_are_current(name: str) -> None:
    """A server that others wrote still has the results of the page, as far as these need no stream."""
    found = {one.name: one.difference for one in run_on(servers()[name], STATELESS)}
    passed = set(RESULTS[name].passed)
    assert {each: difference for each, difference in found.items() if each in passed and difference} == {}
    assert [each for each, difference in found.items() if each not in passed and not difference] == []
