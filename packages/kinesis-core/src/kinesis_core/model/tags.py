"""
The tags of a registered consumer, as AWS accepts them.

Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html
"""

from __future__ import annotations

from collections.abc import Mapping

MAX_TAGS = 50
MAX_TAG_KEY, MAX_TAG_VALUE = 128, 256
_SYMBOLS = frozenset("_.:/=+-@")
_RESERVED = "aws:"


def fault_of_tags(tags: Mapping[str, str]) -> str:
    """Return a sentence that says which tag AWS would refuse, and why; "" if it would accept all."""
    if len(tags) > MAX_TAGS:
        return f"There are {len(tags)} tags. A consumer has at most {MAX_TAGS}."
    return next((fault for key, value in tags.items() if (fault := _fault(key, value))), "")


def _fault(key: object, value: object) -> str:
    if not isinstance(key, str) or not isinstance(value, str):
        return f"The tag {key!r} has a key or a value that is not text."
    if not 1 <= len(key) <= MAX_TAG_KEY:
        return f"A tag's key has {len(key)} characters. Use 1 to {MAX_TAG_KEY}."
    if len(value) > MAX_TAG_VALUE:
        return f"The value of the tag '{key}' has {len(value)} characters. Use at most {MAX_TAG_VALUE}."
    if key.lower().startswith(_RESERVED):
        return f"The tag '{key}' begins with '{_RESERVED}', which AWS reserves."
    wrong = next((each for each in key + value if not _is_allowed(each)), None)
    return (
        ""
        if wrong is None
        else f"The tag '{key}' has the character {wrong!r}. Use letters, digits, spaces and _.:/=+-@."
    )


def _is_allowed(character: str) -> bool:
    return character.isalnum() or character.isspace() or character in _SYMBOLS
