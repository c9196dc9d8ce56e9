"""Items as text: the JSON in which DynamoDB's API has them. All values come back exactly as they were."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

from kinesis_core.leases import Item, item_from_dynamodb, item_to_dynamodb


def encode_item(item: Item) -> str:
    """Return *item* as JSON, with bytes in Base64."""
    return json.dumps(item_to_dynamodb(item), default=_encode_bytes, separators=(",", ":"))


def decode_item(text: str) -> Item:
    """
    Return the item in *text*.

    Raises:
        ValueError, TypeError, AttributeError: It is malformed.
    """
    return item_from_dynamodb(json.loads(text, object_hook=_decode_bytes))


def _encode_bytes(value: Any) -> str:
    return b64encode(value).decode()


def _decode_bytes(node: dict[str, Any]) -> dict[str, Any]:
    """Return *node* with bytes, if it is a value of that kind. In a map, "B" names a value, which is a node itself."""
    encoded = node.get("B")
    return {"B": b64decode(encoded, validate=True)} if isinstance(encoded, str) else node
