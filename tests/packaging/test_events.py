"""Events: every log call is of a declared event, every declared event is logged, and there is one way to log."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from attrs import fields, frozen

import kinesis_emulator.events
from kinesis_credentials.events import Event
from kinesis_credentials.logs import get_logger
from support.declared_events import PACKAGES, complaint
from support.sources import TREES

LEVELS = {"debug", "info", "warning"}
LOGGING_MODULES = {
    *("kinesis_credentials.logs", "kinesis_emulator.events"),
    "kinesis_cli.main",  # an application: it shows the events
}
"""The modules that use the standard library's logging."""
WHERE = {"driver", "task", "driver, task", "worker", "driver, worker", "emulator"}


@frozen
class LogCall:
    """One call of a method of `log`. *facts* are the keys that it names; *is_open* where it takes others from a dict."""

    location: str
    package: str
    level: str
    event: str
    facts: frozenset[str]
    is_open: bool


def is_log(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "log"


def log_calls(module: str, tree: ast.Module) -> Iterator[LogCall]:
    """Yield the calls of `log`; one whose event cannot be read from the code has the name ""."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=logger, attr=level), args=args) if is_log(logger):
                if level == "is_enabled_for":
                    continue
                match args:
                    case [ast.Constant(value=str(event))]:
                        pass
                    case _:
                        event = ""
                keys = [keyword.arg for keyword in node.keywords]
                facts = frozenset(key for key in keys if key is not None)
                package = module.partition(".")[0]
                yield LogCall(f"{module}:{node.lineno}", package, level, event, facts, None in keys)


CALLS = [
    call
    for module, tree in TREES.items()
    if module.partition(".")[0] in PACKAGES
    for call in log_calls(module, tree)
]


def events_of(package: str) -> tuple[Any, ...]:
    return tuple(import_module(f"{package}.events").EVENTS)


EVENTS = [
    (package, event) for package in sorted({*PACKAGES, "kinesis_emulator"}) for event in events_of(package)
]


def all_facts(call: LogCall) -> set[str]:
    """Return the facts of *call*. Those that it takes from a dict count as declared here: `declared_events` checks them in every test."""
    required = {
        key
        for event in events_of(call.package)
        if event.name == call.event and call.is_open
        for key in event.facts
    }
    return {*call.facts, *required}


def test_calls_are_declared() -> None:
    """The event, its level and its facts are those of the declaration."""
    for call in CALLS:
        assert call.level in LEVELS, call
        assert complaint(call.package, call.level, call.event, all_facts(call)) == "", call


def test_declared_events_are_logged() -> None:
    """What is declared is logged somewhere in the package."""
    logged = {(call.package, call.event) for call in CALLS}
    text = ast.unparse(TREES["kinesis_emulator.events"])
    logged |= {
        ("kinesis_emulator", event.name) for event in events_of("kinesis_emulator") if event.name in text
    }
    assert {(package, event.name) for package, event in EVENTS} == logged


def test_there_is_one_way_to_log() -> None:
    """Outside of the modules for it no logger is made, and nothing is printed."""
    wrong = set()
    for module in TREES.keys() - LOGGING_MODULES:
        for node in ast.walk(TREES[module]):
            match node:
                case ast.Attribute(value=ast.Name(id="logging"), attr=name) if name not in {"DEBUG", "INFO"}:
                    wrong.add((module, f"logging.{name}"))
                case ast.ImportFrom(module="logging"):
                    wrong.add((module, "from logging"))
                case ast.Call(func=ast.Name(id="print")):
                    wrong.add((module, "print"))
    assert not wrong


def test_loggers() -> None:
    """A module's logger is its package's, and it logs."""
    made = [
        (module, ast.literal_eval(argument))
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and is_log(node.targets[0])
        for argument in (node.value.args if isinstance(node.value, ast.Call) else [])
    ]
    logging_modules = {call.location.partition(":")[0] for call in CALLS}
    assert sorted(made) == sorted((module, module.partition(".")[0]) for module in logging_modules)


@pytest.mark.parametrize(("package", "event"), EVENTS, ids=lambda part: getattr(part, "name", part))
def test_declarations(package: str, event: Event) -> None:
    """A declaration has a name of two words, a level of logging's, and an example with the declared facts."""
    assert re.fullmatch(r"[a-z_]+\.[a-z_]+", event.name)
    assert isinstance(getattr(logging, event.level), int)
    assert event.where in WHERE
    assert event.meaning.endswith(".")
    assert package == import_module(f"{package}.events").LOGGER
    words = event.example.split()
    shown = {word.partition("=")[0] for word in words[1:] if re.match(r"[a-z_]+=", word)}
    assert words[0] == event.name
    assert set(event.facts) <= shown <= {*event.facts, *event.optional}


@pytest.mark.parametrize("package", sorted({*PACKAGES, "kinesis_emulator"}))
def test_events_are_sorted(package: str) -> None:
    """Each event is declared once, in the order of the alphabet."""
    names = [event.name for event in events_of(package)]
    assert names == sorted(set(names))


def test_the_emulator_has_the_same_form() -> None:
    """The emulator cannot import the declaration of the other packages; its own has the same fields."""
    assert kinesis_emulator.events.Event._fields == tuple(field.name for field in fields(Event))


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        ({"table": "leases", "code": "x"}, "undeclared facts {'code'}"),
        ({}, "missing facts {'table'}"),
    ],
)
def test_every_test_checks_what_is_logged(facts: dict[str, str], wrong: str) -> None:
    """Facts that come from a dict cannot be read from the code, so a test that logs others fails. The level may be off."""
    with pytest.raises(AssertionError, match=wrong):
        get_logger("kinesis_core").info("table.created", **facts)
