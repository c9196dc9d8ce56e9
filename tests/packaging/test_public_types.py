"""All types of ours in the signatures that users see can be imported from the package that defines them."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import pytest
from attrs import frozen

OURS = (
    "kinesis_cli",
    "kinesis_consumer",
    "kinesis_core",
    "kinesis_credentials",
    "kinesis_emulator",
    "spark_kinesis_sink",
    "spark_kinesis_source",
)
FACADES = (*OURS, "spark_kinesis_source.metrics")
"""What users import from."""
NOT_FOR_USERS = {
    "kinesis_core.Producer.__init__": "tests pass an API of their own; programs call `open`",
    "kinesis_core.Producer.connect": "the Spark sink calls it; programs call `open`",
    **{
        f"kinesis_consumer.{store}.open": "a group calls it with how it reaches its streams"
        for store in ("LeaseStore", "DynamoLeases", "MemoryLeases", "SqliteLeases")
    },
    **{
        f"kinesis_consumer.{method}": "who writes a store of leases imports `kinesis_core.leases`"
        for method in (
            *(f"ItemTable.{name}" for name in ("scan", "get", "create", "update", "delete")),
            "Update.apply",
        )
    },
    **{
        f"kinesis_consumer.{attribute}": "a group's own: it is the lease's form of what `id` says"
        for attribute in ("Batch.start", "Batch.end")
    },
    **{
        f"kinesis_consumer.Update.{attribute}": "who writes a store of leases imports `kinesis_core.leases`"
        for attribute in ("expect", "set")
    },
}
"""Signatures whose types are not exported, each with the reason."""


@frozen
class Signature:
    """One annotation as it is written in *module*."""

    where: str
    module: str
    annotation: str


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in OURS


def signatures_of(where: str, member: Any) -> Iterator[Signature]:
    """Yield the annotations of *member*, a function, a method or a property."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    if inspect.isfunction(function) and is_ours(function.__module__):
        for annotation in function.__annotations__.values():
            yield Signature(where, function.__module__, str(annotation))


def signatures_of_class(name: str, found: type) -> Iterator[Signature]:
    """
    Yield the annotations of public attributes and methods of a class, and of its own `__init__`.

    An `__init__` that attrs makes has the attributes once more, and in addition private ones, which no user passes.
    """
    for base in found.__mro__:
        if not is_ours(base.__module__):
            continue
        for attribute, annotation in inspect.get_annotations(base).items():
            if not attribute.startswith("_"):
                yield Signature(f"{name}.{attribute}", base.__module__, str(annotation))
        for attribute, member in vars(base).items():
            is_written = attribute == "__init__" and not hasattr(base, "__attrs_attrs__")
            if is_written or not attribute.startswith("_"):
                yield from signatures_of(f"{name}.{attribute}", member)


def public_signatures(package: str) -> Iterator[Signature]:
    """Yield the annotations of all that *package* exports."""
    module = importlib.import_module(package)
    for name in module.__all__:
        exported = getattr(module, name)
        where = f"{package}.{name}"
        if inspect.isclass(exported):
            yield from signatures_of_class(where, exported)
        else:
            yield from signatures_of(where, exported)
        for part in filter(inspect.isclass, get_args(exported)):  # the types of a union
            yield Signature(where, part.__module__, part.__name__)


def names_in(annotation: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(annotation, mode="eval")) if isinstance(node, ast.Name)}


@cache
def sources_of(module: str) -> dict[str, str]:
    """Return where each name comes from that *module* imports, also for type checkers only; or defines."""
    source = inspect.getsource(importlib.import_module(module))
    found = {}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(origin)):
                found.update({alias.asname or alias.name: origin for alias in node.names})
            case ast.ClassDef(name=name):
                found[name] = module
            case ast.Assign(targets=[ast.Name(id=name)]):
                found[name] = module
    return found


def home_of(name: str, module: str) -> str | None:
    """Return the package of ours that defines *name* of *module*; None for a name of somebody else."""
    if not is_ours(module):
        return None
    origin = sources_of(module).get(name)
    while origin and is_ours(origin) and origin != module:
        module, origin = origin, sources_of(origin).get(name)
    return origin.partition(".")[0] if origin and is_ours(origin) else None


def is_exported(name: str, package: str) -> bool:
    """Return whether users can import *name* from *package*, or from another facade in it."""
    facades = [facade for facade in FACADES if facade.partition(".")[0] == package]
    return any(name in importlib.import_module(facade).__all__ for facade in facades)


@pytest.mark.parametrize("package", FACADES)
def test_types_of_signatures_are_exported(package: str) -> None:
    """A type in a public signature is exported by the package that defines it."""
    missing = {
        f"{home}.{name}, in {signature.where}"
        for signature in public_signatures(package)
        if signature.where not in NOT_FOR_USERS
        for name in names_in(signature.annotation)
        if (home := home_of(name, signature.module))
        if not is_exported(name, home)
    }
    assert not missing


def test_all_kinds_of_signatures_are_seen() -> None:
    """Attributes, methods, unions and what is imported for type checkers only are among the signatures."""
    found = {signature.where: signature for signature in public_signatures("kinesis_core")}
    assert {"kinesis_core.PlanSettings.limits", "kinesis_core.Stream.open", "kinesis_core.Cut"} <= set(found)
    everywhere = {signature.where for package in FACADES for signature in public_signatures(package)}
    assert set(NOT_FOR_USERS) <= everywhere
    assert home_of("StreamConsumer", "kinesis_core.stream") == "kinesis_core"
    assert home_of("CredentialSpec", "kinesis_core.stream") == "kinesis_credentials"
    assert home_of("Iterator", "kinesis_core.stream") is None
