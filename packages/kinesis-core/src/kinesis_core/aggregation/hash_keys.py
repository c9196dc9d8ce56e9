"""Explicit hash keys: which texts are one."""

from __future__ import annotations

import re

_DECIMAL = re.compile("0|[1-9][0-9]{0,38}")
_MAX = str(2**128 - 1)


def is_hash_key(text: str) -> bool:
    """
    Return whether Kinesis accepts *text* as an explicit hash key: a decimal number from 0 to 2^128-1.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecordsRequestEntry.html
    """
    return _DECIMAL.fullmatch(text) is not None and (len(text) < len(_MAX) or text <= _MAX)
