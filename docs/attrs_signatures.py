"""A Griffe extension: the constructors that attrs writes, for signatures in the Python API reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from griffe import (
    Attribute,
    Class,
    Expr,
    ExprCall,
    ExprKeyword,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
    Parameters,
)

_CLASSES = {"attrs.define", "attrs.frozen"}
_FIELD = "attrs.field"


class AttrsSignatures(Extension):
    """Adds `__init__` to the attrs classes of a package. Those with private fields are made by the library only."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        for class_ in _classes(pkg):
            fields = list(_fields(class_))
            if _is_attrs(class_) and "__init__" not in class_.members and _are_public(fields):
                class_.set_member("__init__", _init(class_, fields))


def _classes(module: Module) -> Iterator[Class]:
    for member in module.members.values():
        if isinstance(member, Module):
            yield from _classes(member)
        elif isinstance(member, Class):
            yield member


def _is_attrs(class_: Class) -> bool:
    return any(
        isinstance(decorator.value, Expr) and decorator.value.canonical_path in _CLASSES
        for decorator in class_.decorators
    )


def _fields(class_: Class) -> Iterator[Attribute]:
    """Yield the fields in the order of the constructor: those of the base classes first."""
    for owner in (*reversed(class_.mro()), class_):
        for member in owner.members.values():
            if isinstance(member, Attribute) and member.annotation and "property" not in member.labels:
                yield member


def _are_public(fields: list[Attribute]) -> bool:
    return bool(fields) and not any(field.name.startswith("_") for field in fields)


def _init(class_: Class, fields: list[Attribute]) -> Function:
    kind = ParameterKind.positional_or_keyword
    parameters = [Parameter("self", kind=kind)]
    parameters += [
        Parameter(field.name, annotation=field.annotation, kind=kind, default=_default(field))
        for field in fields
    ]
    return Function("__init__", parameters=Parameters(*parameters), parent=class_)


def _default(field: Attribute) -> str | Expr | None:
    value = field.value
    if not isinstance(value, ExprCall) or value.canonical_path != _FIELD:
        return value
    given = {
        argument.name: argument.value for argument in value.arguments if isinstance(argument, ExprKeyword)
    }
    return f"{given['factory']}()" if "factory" in given else given.get("default")
