"""Reads the region from an endpoint's host, using botocore's data of AWS's partitions."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit


def find_endpoint_region(endpoint_url: str) -> str | None:
    """Return the region in the host of *endpoint_url*; None if it has none or is outside AWS."""
    host = _get_host(endpoint_url)
    for suffix, pattern in _load_partitions():
        if host.endswith(suffix):
            for label in reversed(host.removesuffix(suffix).split(".")):
                if pattern.fullmatch(label):
                    return label
    return None


def is_aws_endpoint(endpoint_url: str) -> bool:
    """Return whether the host of *endpoint_url* belongs to AWS."""
    return any(_get_host(endpoint_url).endswith(suffix) for suffix, _ in _load_partitions())


def _get_host(endpoint_url: str) -> str:
    return (urlsplit(endpoint_url).hostname or "").rstrip(".")


@lru_cache(maxsize=1)
def _load_partitions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each DNS suffix of AWS with the pattern of its regions, from botocore's data."""
    data = _read_partitions()
    return tuple(
        (f".{partition['outputs'][kind]}", re.compile(partition["regionRegex"]))
        for partition in data["partitions"]
        for kind in ("dnsSuffix", "dualStackDnsSuffix")
        if partition["outputs"].get(kind)
    )


def _read_partitions() -> dict[str, Any]:
    import botocore  # most queries have no endpoint

    path = os.path.join(botocore.BOTOCORE_ROOT, "data", "partitions.json")
    if os.path.isfile(path):  # botocore's loader imports most of botocore, which takes 35 ms of CPU
        with open(path, encoding="utf-8") as file:
            data: dict[str, Any] = json.load(file)
        return data
    from botocore.loaders import Loader

    return dict(Loader().load_data("partitions"))
