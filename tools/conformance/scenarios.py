"""The scenarios, read from the JSON files in `scenarios`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.conformance.matching import MATCHERS

HERE = Path(__file__).parent
FOLDER = HERE / "scenarios"
SETUPS = HERE / "setups.json"
_OF_SCENARIO = {"name", "fact", "source", "before"}
_OF_STEP = {"call", "with", "save", "until", "expect", "events", "http", "wait_s", "times"}
_OUTCOMES = ({"answer"}, {"error"}, {"empty"})
_SPECIAL = MATCHERS | {"$times"}


@dataclass(frozen=True)
class Step:
    """One call, or a wait of *wait_s* seconds without one."""

    call: str = ""
    parameters: Any = None
    save: tuple[tuple[str, str], ...] = ()
    """Names for later steps, each with its path in the response."""
    until: Any = None
    """The call is repeated, with pauses, until its body fits this. Only then it is compared with *expect*."""
    expect: Any = None
    """None: the call must succeed."""
    events: int = 0
    """The number of records to wait for in the events of a subscription."""
    http: Any = None
    """How the request differs from one with JSON, its operation and a signature."""
    wait_s: float = 0
    times: int = 1
    """The call is made at most so often at once, until it is as expected."""


@dataclass(frozen=True)
class Scenario:
    """A call in a situation, with what AWS answers."""

    name: str
    area: str
    fact: str
    sources: tuple[str, ...]
    before: tuple[Step, ...]
    step: Step


class BadScenarioError(ValueError):
    """A file of scenarios does not have the form that README.md describes."""


def load(folder: Path = FOLDER) -> list[Scenario]:
    """
    Return all scenarios, in the order of their files.

    Raises:
        BadScenarioError: A member is unknown or missing, or a name is used twice.
    """
    setups = json.loads(SETUPS.read_text(encoding="utf-8"))
    found = [one for path in sorted(folder.glob("*.json")) for one in _read(path, setups)]
    names = [one.name for one in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadScenarioError(f"Names that stand twice: {', '.join(sorted(twice))}.")
    return found


def _read(path: Path, setups: dict[str, Any]) -> Iterator[Scenario]:
    content = json.loads(path.read_text(encoding="utf-8"))
    for data in content["scenarios"]:
        try:
            yield _scenario(data, content["area"], setups)
        except (KeyError, BadScenarioError) as error:
            raise BadScenarioError(f"{path.name}, {data.get('name')}: {error}") from None


def _scenario(data: dict[str, Any], area: str, setups: dict[str, Any]) -> Scenario:
    sources = tuple(data["source"])
    if not sources:
        raise BadScenarioError("A scenario needs a source.")
    if "expect" not in data:
        raise BadScenarioError("A scenario needs expect.")
    before = tuple(_before(data.get("before", []), setups))
    step = _step({name: value for name, value in data.items() if name not in _OF_SCENARIO})
    return Scenario(data["name"], area, data["fact"], sources, before, step)


def _before(steps: list[Any], setups: dict[str, Any]) -> Iterator[Step]:
    """Yield the steps. A name stands for the steps of that name in setups.json."""
    for one in steps:
        if isinstance(one, str):
            yield from _before(setups[one], setups)
        else:
            yield _step(one)


def _step(data: dict[str, Any]) -> Step:
    if unknown := set(data) - _OF_STEP:
        raise BadScenarioError(f"Unknown members: {', '.join(sorted(unknown))}.")
    if "expect" in data and set(data["expect"]) not in _OUTCOMES:
        raise BadScenarioError("expect has one of answer, error and empty.")
    if (
        unknown := {name for name in _names_in(data) if name.startswith("$") and not name.startswith("${")}
        - _SPECIAL
    ):
        raise BadScenarioError(f"Unknown matchers: {', '.join(sorted(unknown))}.")
    return Step(
        data.get("call", ""),
        data.get("with", {}),
        tuple(data.get("save", {}).items()),
        data.get("until"),
        data.get("expect"),
        data.get("events", 0),
        data.get("http"),
        data.get("wait_s", 0),
        data.get("times", 1),
    )


def _names_in(value: Any) -> Iterator[str]:
    """Yield the names of all members of *value*."""
    if isinstance(value, dict):
        yield from value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names_in(below)
