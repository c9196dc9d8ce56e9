"""Packages that import a name when it is used, by `lazy_names`, name it twice: for Python and for type checkers."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "packages").glob("*/src"))
LAZY = {
    ".".join(path.relative_to(source).parent.parts): path
    for source in SOURCES
    for path in sorted(source.rglob("__init__.py"))
    if "lazy_names(" in path.read_text(encoding="utf-8")
}


def checked_names(path: Path) -> dict[str, str]:
    """Return the names that type checkers see as exported, each with the module that it is imported from."""
    (block,) = (
        node.body
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    return {
        alias.name: str(node.module)
        for node in block
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }


def test_some_packages_are_lazy() -> None:
    """The packages that every process of Spark imports are lazy."""
    assert {"kinesis_credentials", "kinesis_core", "kinesis_core.aws", "spark_kinesis_source"} <= set(LAZY)


@pytest.mark.parametrize("package", sorted(LAZY))
def test_names_are_those_for_type_checkers(package: str) -> None:
    """Each name is exported and what type checkers take it for, and `dir` shows it, which notebooks complete."""
    found, names = import_module(package), checked_names(LAZY[package])
    assert found.__all__ == sorted(names)
    assert set(names) <= set(dir(found))
    for name, module in names.items():
        assert getattr(found, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("package", sorted(LAZY))
def test_a_misspelt_name(package: str) -> None:
    """A name that the package does not have is the usual error."""
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Strem'"):
        import_module(package).Strem  # noqa: B018 # as a user writes it
