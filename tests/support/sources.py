"""The published modules as syntax trees, and what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
FOLDERS = sorted((ROOT / "packages").glob("*/src"))


class When(Enum):
    """When an import is executed."""

    LOADED = "its module is imported"
    CALLED = "a function is called"
    CHECKED = "only type checkers read it"


@frozen
class Import:
    """One import of *module*: *name* of the module *source*, or that module itself if *name* is empty."""

    module: str
    source: str
    name: str = ""
    when: When = When.LOADED

    @property
    def library(self) -> str:
        """The package that is imported, ours or another's."""
        return self.source.partition(".")[0]


def module_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(tree: ast.AST, module: str, when: When = When.LOADED) -> Iterator[Import]:
    """Yield all imports in *tree*."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names):
                yield from (Import(module, alias.name, when=when) for alias in names)
            case ast.ImportFrom(module=str(source), level=0, names=names):
                yield from (Import(module, source, alias.name, when) for alias in names)
            case ast.ImportFrom():
                raise AssertionError(f"{module} has a relative import: write the whole path")
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from imports_of(node, module, When.CHECKED)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if when is When.LOADED:
                yield from imports_of(node, module, When.CALLED)
            case _:
                yield from imports_of(node, module, when)


TREES = {module_of(path, folder): parse(path) for folder in FOLDERS for path in sorted(folder.rglob("*.py"))}
IMPORTS = [found for module, tree in TREES.items() for found in imports_of(tree, module)]
FACADES = {module_of(path, folder) for folder in FOLDERS for path in folder.rglob("__init__.py")}


def is_within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")
