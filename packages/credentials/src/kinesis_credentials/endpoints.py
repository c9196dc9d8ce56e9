"""What an endpoint's host tells, by botocore's own data of AWS's partitions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from botocore.loaders import Loader


def find_endpoint_region(endpoint_url: str) -> str | None:
    """Return the region in the host of an AWS endpoint, else None."""
    host = _get_host(endpoint_url)
    for suffix, pattern in _load_partitions():
        if host.endswith(suffix):
            for label in reversed(host.removesuffix(suffix).split(".")):
                if pattern.fullmatch(label):
                    return label
    return None


def is_aws_endpoint(endpoint_url: str) -> bool:
    """Return whether the host is one of AWS's."""
    return any(_get_host(endpoint_url).endswith(suffix) for suffix, _ in _load_partitions())


def _get_host(endpoint_url: str) -> str:
    return (urlsplit(endpoint_url).hostname or "").rstrip(".")


@lru_cache(maxsize=1)
def _load_partitions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each DNS suffix of AWS with the pattern of the regions under it, from botocore's own data."""
    data: dict[str, Any] = Loader().load_data("partitions")
    return tuple(
        (f".{partition['outputs'][kind]}", re.compile(partition["regionRegex"]))
        for partition in data["partitions"]
        for kind in ("dnsSuffix", "dualStackDnsSuffix")
        if partition["outputs"].get(kind)
    )
