"""Packages that import a name when it is used, by `lazy_names`, name it twice: for Python and for type checkers."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from support.sources import FACADES, IMPORTS, TREES, When


def calls_lazy_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_names"


LAZY = sorted(facade for facade in FACADES if any(calls_lazy_names(node) for node in ast.walk(TREES[facade])))


def checked_names(package: str) -> dict[str, str]:
    """Return the names that type checkers see as exported, each with the module that it is imported from."""
    return {
        each.name: each.source for each in IMPORTS if each.module == package and each.when is When.CHECKED
    }


def test_some_packages_are_lazy() -> None:
    """The packages that every process of Spark imports are lazy."""
    assert {"kinesis_credentials", "kinesis_core", "kinesis_core.aws", "spark_kinesis_source"} <= set(LAZY)


@pytest.mark.parametrize("package", LAZY)
def test_names_are_those_for_type_checkers(package: str) -> None:
    """Each name is exported and what type checkers take it for, and `dir` shows it, which notebooks complete."""
    found, names = import_module(package), checked_names(package)
    assert found.__all__ == sorted(names)
    assert set(names) <= set(dir(found))
    for name, module in names.items():
        assert getattr(found, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("package", LAZY)
def test_a_misspelt_name(package: str) -> None:
    """A name that the package does not have is the usual error."""
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Strem'"):
        import_module(package).Strem  # noqa: B018 # as a user writes it
