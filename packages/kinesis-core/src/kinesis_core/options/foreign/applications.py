"""
Reads the name of a KCL application as a starting position.

    {"kclApplication": "billing"}
    {"kclApplication": "billing", "region": "us-east-1", "shardId-000000000003": "TRIM_HORIZON"}

The second form names the region of the lease table, and the position of a shard for which the table does not say one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kinesis_core.model import Cut, KclApplication, Latest
from kinesis_core.options.option import BadValueError
from kinesis_core.options.parsers import region

_APPLICATION, _REGION = "kclapplication", "region"
_TABLE_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")


def is_application(document: dict[str, Any]) -> bool:
    """Return whether *document* names a KCL application."""
    return _APPLICATION in {key.lower() for key in document}


def read_application(
    document: dict[str, Any], read_shards: Callable[[dict[str, Any]], Mapping[str, Cut | Latest]]
) -> KclApplication:
    """
    Return the position that *document* names. *read_shards* reads its positions by shard.

    Raises:
        BadValueError: A value is not valid. The hint says which one.
    """
    parts = {key.lower(): value for key, value in document.items() if key.lower() in (_APPLICATION, _REGION)}
    shards = {key: value for key, value in document.items() if key.lower() not in (_APPLICATION, _REGION)}
    if len(parts) + len(shards) < len(document):
        raise BadValueError("The JSON object has a name twice.")
    table = parts[_APPLICATION]
    if not (isinstance(table, str) and _TABLE_NAME.fullmatch(table)):
        raise BadValueError(
            "'kclApplication' is the name of the application's lease table: 3 to 255 letters, digits, '_', '.' and '-'."
        )
    return KclApplication(table, _read_region(parts), read_shards(shards) if shards else {})


def _read_region(parts: dict[str, Any]) -> str | None:
    if _REGION not in parts:
        return None
    try:
        return region().parse(parts[_REGION])
    except (BadValueError, AttributeError):
        raise BadValueError("'region' is the region of the lease table, such as eu-west-1.") from None
