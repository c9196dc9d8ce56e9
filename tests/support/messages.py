"""The texts that the code of a package can show: all of its strings with a blank, without docstrings and comments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen


@frozen
class Message:
    """A text in the code. A value that it is filled with is shown as `{}`."""

    module: str
    """Its file in the package, such as `kinesis_core/stream.py`."""
    line: int
    text: str


def messages_of(package: str) -> Iterator[Message]:
    """Yield the texts of all modules of *package*."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    for path in sorted(folder.rglob("*.py")):
        module = path.relative_to(folder.parent).as_posix()
        for line, text in _texts(ast.parse(path.read_text())):
            yield Message(module, line, text)


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return  # a docstring
    if isinstance(tree, ast.JoinedStr | ast.Constant):
        text = _text(tree)
        if " " in text:
            yield tree.lineno, text
        return
    for child in ast.iter_child_nodes(tree):
        yield from _texts(child)


def _text(tree: ast.expr) -> str:
    if isinstance(tree, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in tree.values)  # type: ignore[misc]
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""
