"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """
    Return `__getattr__` and `__dir__` of *package* (PEP 562). The first one imports the module of a name when the name is used.

    *names* has the names of each module, separated by spaces. `test_lazy_names.py` compares them with the imports for type
    checkers.

    Spark starts up to five Python processes for one query, and each needs another part of our packages. To import all parts takes
    0.15 s of CPU in each process.
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # Python does not call this function for it again
        return value

    return import_name, lambda: sorted({*vars(sys.modules[package]), *modules})
