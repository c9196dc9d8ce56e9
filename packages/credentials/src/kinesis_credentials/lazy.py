"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module


def lazy_names(package: str, names: Mapping[str, str]) -> None:
    """
    Give *package* the names in *names*, and `__all__`. The module of a name is imported when the name is used (PEP 562).

    *names* has the names of each module, separated by spaces. `test_lazy_names.py` compares them with the imports for type
    checkers. Each of these is `from a import b as b`, which says that the package exports the name.

    Spark starts up to five Python processes for one query, and each needs another part of our packages. To import all parts takes
    0.15 s of CPU in each process.
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}
    namespace = vars(sys.modules[package])

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        namespace[name] = value = getattr(import_module(modules[name]), name)
        return value  # Python does not call this function for it again

    namespace.update(
        __getattr__=import_name, __dir__=lambda: sorted({*namespace, *modules}), __all__=sorted(modules)
    )
