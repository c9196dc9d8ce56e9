"""Write docs/reference/commands.md from the signatures and docstrings of the commands: `python -m docs.generate_commands [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import docstring_parser
from cyclopts import App, Argument
from docstring_parser import DocstringParam

from docs.sections import render_rows, update
from kinesis_cli.app import COMMANDS, make_app
from kinesis_cli.connecting import GROUP

PAGE = Path(__file__).parent / "reference" / "commands.md"


def _render() -> Iterator[str]:
    app = make_app()
    for group, commands in COMMANDS.items():
        yield f"## {group}\n"
        for name in commands:
            yield _render_command(app[name], name)


def _render_command(app: App, name: str) -> str:
    function = import_module(f"kinesis_cli.commands.{name}").__dict__[name]
    doc = docstring_parser.parse(function.__doc__ or "")
    given = [each for each in app.assemble_argument_collection() if GROUP not in _groups(each)]
    meanings = _meanings(doc.params)
    for each in given:
        if _is_class(each):
            meanings |= _meanings(docstring_parser.parse_from_object(each.hint).params)
    rows = [
        (_names(each), _default(each), meanings[_parameter(each)]) for each in given if not _is_class(each)
    ]
    usage = " ".join([f"kinesis {name}", *(each.name for each in given if each.name.isupper())])
    text = [f"### kinesis {name}", "", _one_line(doc.short_description or ""), ""]
    if (Path(__file__).parent / "cli" / f"{name}.md").exists():
        text += [f"[What it shows, and examples](../cli/{name}.md)", ""]
    text += [f"`{usage} [OPTIONS]`", "", *render_rows(("option", "default", "meaning"), rows), ""]
    return "\n".join(text)


def _meanings(params: Iterable[DocstringParam]) -> dict[str, str]:
    return {param.arg_name: _one_line(param.description or "") for param in params}


def _is_class(argument: Argument) -> bool:
    """Return whether the fields of a class are the options."""
    return argument.name == "*"


def _groups(argument: Argument) -> tuple[Any, ...]:
    groups: Any = argument.parameter.group
    return tuple(groups or ())


def _parameter(argument: Argument) -> str:
    return str(argument.field_info.name)


def _names(argument: Argument) -> str:
    return ", ".join(f"`{name}`" for name in argument.names)


def _default(argument: Argument) -> str:
    default = argument.field_info.default
    match default:
        case str() | float():
            return f"`{default}`"
        case bool():
            return "yes" if default else "no"
        case int():
            return str(default)
    return ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(update(PAGE, {"commands": _render()}, sys.argv[1:]))
