"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """
    Return the function `__getattr__` of *package*, which imports the module of a name when the name is first used (PEP 562).

    *names* has the names of each module, separated by spaces. `test_rooms.py` compares them with the imports for type checkers.

    Spark starts up to six Python processes for one query, and each needs another part of our packages. To import all of them takes
    a quarter of a second of CPU in each process.
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # Python does not call this function for it again
        return value

    return import_name
