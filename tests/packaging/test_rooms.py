"""
Rooms: which room may import which.

A room is a folder of a package, or a module directly in the package. Other rooms import a folder only by its `__init__`, its
facade: `__all__` names what is for them. The other modules of the folder are its own business.
"""

from __future__ import annotations

import ast
import sys
from graphlib import TopologicalSorter
from importlib import import_module

import pytest

from support.sources import (
    FACADES,
    IMPORTS,
    ROOT,
    TREES,
    Import,
    When,
    imports_of,
    is_within,
    module_of,
    parse,
)

OUTSIDE = [ROOT / "demo", ROOT / "docs"]
CORE, CONSUMER, CLI = "kinesis_core", "kinesis_consumer", "kinesis_cli"
BASE = {"errors", "clock", "threads", "budget"}
"""Modules of the core that every room may use, except the lowest rooms."""
MAY_IMPORT = {
    "errors": set[str](),
    "clock": set[str](),
    "budget": set[str](),
    "events": set[str](),
    "version": set[str](),
    "native": {"errors", "version"},
    "for_spark": {"errors", "options", "threads"},
    "aggregation": set[str](),
    "model": {"errors"},
    "termination": set[str](),
    "threads": {"errors"},
    "throttled": set[str](),
    "aws": {*BASE, "model", "native", "version"},
    "shards": {*BASE, "model", "aws", "throttled"},
    "planning": {*BASE, "model", "aws", "aggregation", "shards", "throttled"},
    "reading": {*BASE, "model", "aws", "aggregation", "shards"},
    "producing": {*BASE, "model", "aws", "aggregation", "native", "termination", "throttled"},
    "leases": {*BASE, "model", "aws", "shards"},
    "options": {*BASE, "model", "aws"},
    "batch": {"errors", "model", "reading"},
    "follow": {"batch", "clock", "errors", "model"},
    "stream": {
        *BASE,
        "model",
        "aws",
        "shards",
        "planning",
        "reading",
        "options",
        "batch",
        "follow",
        "leases",
    },
    "polars": {"model", "planning", "reading", "stream"},
}
"""Rooms of the core, each with those that it may import. The package's own `__init__` may import all of them."""
CONSUMER_MAY_IMPORT = {
    "errors": set[str](),
    "events": set[str](),
    "settings": {"arguments"},
    "version": set[str](),
    "arguments": {"errors"},
    "patience": set[str](),
    "waiting": set[str](),
    "stores": {"errors"},
    "leases": {"errors", "stores"},
    "assignment": {"errors", "patience", "leases", "stores"},
    "shards": {"errors", "leases", "stores"},
    "words": set[str](),
    "delivery": {"errors", "settings", "waiting", "words", "leases"},
    "worker": {"arguments", "errors", "settings", "stores", "leases", "assignment", "shards", "delivery"},
    "handling": {"errors", "arguments", "delivery", "worker"},
    "lease_stores": {"arguments", "patience", "stores"},
    "opening": {
        "arguments",
        "patience",
        "settings",
        "lease_stores",
        "assignment",
        "shards",
        "delivery",
        "worker",
    },
    "group": {
        "arguments",
        "settings",
        "waiting",
        "words",
        "lease_stores",
        "opening",
        "shards",
        "delivery",
        "worker",
        "handling",
    },
}
"""The same for the rooms of the package of consumer groups. All of them may import the core's facades."""
CLI_BASE = {"ending", "file_errors", "output", "moments", "wording"}
CLI_MAY_IMPORT = {
    "version": set[str](),
    "ending": set[str](),
    "signals": {"ending"},
    "file_errors": {"ending"},
    "lease_stores": {"ending"},
    "output": {"ending", "signals"},
    "wording": set[str](),
    "moments": {"ending", "wording"},
    "waiting": {"output"},
    "connecting": {"ending", "waiting"},
    "completing": set[str](),
    "stream_lines": set[str](),
    "shard_ids": set[str](),
    "records": {*CLI_BASE, "completing", "shard_ids"},
    "stopping": {"ending", "signals"},
    "putting": {*CLI_BASE, "stopping"},
    "replaying": {*CLI_BASE, "stopping", "putting", "records"},
    "checkpoints": {"ending"},
    "saved_offsets": {*CLI_BASE, "checkpoints", "shard_ids"},
    "lag": {*CLI_BASE, "checkpoints", "lease_stores", "parallel"},
    "parallel": set[str](),
    "traffic": {"output", "parallel"},
    "lineage": {"output", "traffic"},
    "advice": {"output", "traffic"},
    "live": {"output", "parallel", "stream_lines", "traffic", "lag"},
    "screens": {"ending", "lineage", "live", "output", "signals", "stream_lines", "traffic", "wording"},
    "lease_table": {*CLI_BASE, "lease_stores"},
    "checkup": {*CLI_BASE, "traffic"},
    "destination": {"connecting", "ending"},
    "copying": {*CLI_BASE, "stopping", "putting"},
    "app": {"version"},  # it names the modules of the commands, and imports none
    "main": {"app", "ending", "file_errors", "signals", "wording"},
    "__main__": {"main"},
}
CLI_MAY_IMPORT["commands"] = set(CLI_MAY_IMPORT) - {"app", "main", "wording", "__main__"}
"""The same for the rooms of the command line. Like the consumers, they may import the core's facades."""
RULES = {CORE: MAY_IMPORT, CONSUMER: CONSUMER_MAY_IMPORT, CLI: CLI_MAY_IMPORT}
MAY_USE = {"aggregation": set[str](), "model": {"attrs", "kinesis_credentials", "msgspec"}}
"""
Rooms of values and algorithms only, with the packages that they may use in addition to the standard library. `kinesis_credentials` has
the values of what to do about an error.
"""
AWS_LIBRARIES = {"boto3", "botocore", "urllib3"}
MAY_CALL_AWS = {"kinesis_core.aws", "kinesis_credentials"}
"""All others call AWS through these. (The second one makes botocore's sessions.)"""


def room_of(module: str) -> str:
    """Return the innermost folder of *module*, or *module* itself if that is directly in its package."""
    if module in FACADES:
        return module
    folder = module.rpartition(".")[0]
    return folder if "." in folder else module


def main_room(module: str) -> str:
    """Return the name of the room directly in its package that contains *module*, or "" for the package's own `__init__`."""
    return module.partition(".")[2].partition(".")[0]


@pytest.mark.parametrize("package", sorted(RULES))
def test_every_room_has_a_rule(package: str) -> None:
    """Every room of these packages has a rule that says what it may import."""
    assert {main_room(module) for module in TREES if is_within(module, package)} - {""} == set(RULES[package])


@pytest.mark.parametrize(
    ("package", "room"), [(package, room) for package in sorted(RULES) for room in sorted(RULES[package])]
)
def test_rooms_import_what_they_may(package: str, room: str) -> None:
    """Imports between the rooms of a package go in one direction."""
    wrong = [
        found
        for found in IMPORTS
        if is_within(found.module, f"{package}.{room}") and is_within(found.source, package)
        if main_room(found.source) not in {room, *RULES[package][room]}
    ]
    assert not wrong


@pytest.mark.parametrize("room", sorted(MAY_USE))
def test_pure_rooms_use_nothing(room: str) -> None:
    """Rooms of values and algorithms use no other library."""
    used = {found.library for found in IMPORTS if is_within(found.module, f"{CORE}.{room}")}
    assert used - set(sys.stdlib_module_names) - {CORE} <= MAY_USE[room]


def test_one_room_calls_aws() -> None:
    """botocore and urllib3 are imported in one room of the core, and where sessions are made."""
    callers = {
        next((room for room in MAY_CALL_AWS if is_within(found.module, room)), found.module)
        for found in IMPORTS
        if found.library in AWS_LIBRARIES
    }
    assert callers == MAY_CALL_AWS


def test_one_room_reads_shards() -> None:
    """Iterators and pages are asked for in one room: it keeps the quota, renews iterators and says what is the tip."""
    callers = {
        ".".join(module.split(".")[:2])
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"get_iterator", "get_records"}
    }
    checks_permissions, delegates, serves = (
        "kinesis_cli.checkup",
        "kinesis_consumer.opening",
        "kinesis_emulator.operations",
    )
    assert callers == {"kinesis_core.aws", "kinesis_core.shards", checks_permissions, delegates, serves}


def test_rooms_are_imported_by_their_facade() -> None:
    """Modules outside a room import its `__init__` and no other module of it. So do the demo and the docs."""
    outside = [
        found
        for folder in OUTSIDE
        for path in sorted(folder.rglob("*.py"))
        for found in imports_of(parse(path), f"{folder.name}.{module_of(path, folder)}")
    ]
    wrong = [
        found
        for found in [*IMPORTS, *outside]
        if found.source in TREES and "." in found.source
        if not is_within(found.module, room_of(found.source)) and found.source != room_of(found.source)
    ]
    assert not wrong


def exported(module: str) -> list[str]:
    """Return the names in `__all__` of *module*."""
    for node in TREES[module].body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
    return list(getattr(import_module(module), "__all__", []))  # `lazy_names` sets it


def exports(facade: str) -> list[Import]:
    """Return the imports of *facade* without those that it needs itself: the Spark packages look at the version of Python first."""
    own = {"sys", "typing", "kinesis_credentials.lazy"}
    return [found for found in IMPORTS if found.module == facade and found.source not in own]


@pytest.mark.parametrize("facade", sorted(FACADES))
def test_facades_export_what_they_import(facade: str) -> None:
    """A facade has a docstring, imports, and a sorted `__all__` that names exactly the imported names."""
    names = exported(facade)
    assert ast.get_docstring(TREES[facade])
    assert names == sorted(names)
    assert set(names) == {found.name for found in exports(facade)}


def test_no_circular_imports() -> None:
    """No modules import each other, directly or through others. Only imports for types may form a cycle."""
    graph: dict[str, set[str]] = {}
    for found in IMPORTS:
        if found.source in TREES and found.when is not When.CHECKED:
            inner = f"{found.source}.{found.name}"
            graph.setdefault(found.module, set()).add(inner if inner in TREES else found.source)
    assert list(TopologicalSorter(graph).static_order())


def test_unit_tests_mirror_the_rooms() -> None:
    """Each folder of unit tests has the name of the room that it tests."""
    unit = ROOT / "tests" / "unit"
    folders = {".".join(path.relative_to(unit).parent.parts) for path in unit.rglob("test_*.py")}
    assert folders <= FACADES
