"""The tests of an engine are in the sessions that install it."""

from __future__ import annotations

from importlib.util import find_spec

FILES = {"polars": "test_polars*.py", "dlt": "test_dlt.py", "ray": "test_ray.py"}
collect_ignore_glob = [files for engine, files in FILES.items() if find_spec(engine) is None]
