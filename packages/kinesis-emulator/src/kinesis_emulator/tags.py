"""The tags of streams: AddTagsToStream, ListTagsForStream and RemoveTagsFromStream, and those of CreateStream."""

from __future__ import annotations

from typing import Any

from kinesis_emulator.errors import AwsError, invalid_argument
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service

_MOST = 50
_KEY_LENGTH, _VALUE_LENGTH = 128, 256


def read_tags(request: Request) -> dict[str, str]:
    """Return the parameter `Tags` of *request*; nothing if it has none."""
    tags = request.member("Tags").params
    for key, value in tags.items():
        if not (isinstance(value, str) and 1 <= len(key) <= _KEY_LENGTH and len(value) <= _VALUE_LENGTH):
            raise invalid_argument(
                f"A tag has a key of 1 to {_KEY_LENGTH} characters and a value of up to {_VALUE_LENGTH} characters."
            )
    if len(tags) > _MOST:
        raise invalid_argument(f"A stream has at most {_MOST} tags.")
    return dict(tags)


def add_tags(service: Service, request: Request) -> None:
    added, stream = read_tags(request), service.find_stream(request)
    with stream.lock:
        if len(stream.tags.keys() | added.keys()) > _MOST:
            raise AwsError("LimitExceededException", f"A stream has at most {_MOST} tags.")
        stream.tags.update(added)
        stream.save()


def list_tags(service: Service, request: Request) -> dict[str, Any]:
    limit = request.optional_integer("Limit", 1, _MOST) or _MOST
    after = request.optional_text("ExclusiveStartTagKey") or ""
    stream = service.find_stream(request)
    with stream.lock:
        tags = [{"Key": key, "Value": value} for key, value in sorted(stream.tags.items()) if key > after]
    return {"Tags": tags[:limit], "HasMoreTags": len(tags) > limit}


def remove_tags(service: Service, request: Request) -> None:
    removed, stream = request.params.get("TagKeys"), service.find_stream(request)
    if not isinstance(removed, list):
        raise invalid_argument("TagKeys must be a list of keys.")
    with stream.lock:
        for key in removed:
            stream.tags.pop(key, None)
        stream.save()
