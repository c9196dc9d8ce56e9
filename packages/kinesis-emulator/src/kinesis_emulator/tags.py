"""The tags of streams: AddTagsToStream, ListTagsForStream and RemoveTagsFromStream, and those of CreateStream."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kinesis_emulator.errors import AwsError, invalid_argument
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service

_MOST = 50
_KEY, _VALUE = re.compile(r"[\w\s.:/=+\-@]{1,128}"), re.compile(r"[\w\s.:/=+\-@]{0,256}")
"""Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html"""


def read_tags(request: Request, owner: str = "stream") -> dict[str, str]:
    """Return the parameter `Tags` of *request*, after the checks that AWS makes; nothing if it has none."""
    given = request.member("Tags")
    tags: dict[str, str] = dict(given.params)
    if len(tags) > _MOST:
        raise invalid_argument(f"A {owner} has at most {_MOST} tags.")
    for key, value in tags.items():
        if not (_KEY.fullmatch(key) and _VALUE.fullmatch(value)):
            raise invalid_argument(f"The tag {key} has a key or a value that is not allowed.")
        if key.lower().startswith("aws:"):
            raise invalid_argument(f"The tag {key} begins with aws:, which is reserved.")
    return tags


def show_tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def add_tags(service: Service, request: Request) -> None:
    added, stream = read_tags(request), service.find_stream(request)
    with stream.lock:
        if len(stream.tags.keys() | added.keys()) > _MOST:
            raise AwsError("LimitExceededException", f"A stream has at most {_MOST} tags.")
        stream.tags.update(added)
        stream.save()


def list_tags(service: Service, request: Request) -> dict[str, Any]:
    limit = request.optional_integer("Limit") or _MOST
    after = request.optional_text("ExclusiveStartTagKey") or ""
    stream = service.find_stream(request)
    with stream.lock:
        tags = [tag for tag in show_tags(stream.tags) if tag["Key"] > after]
    return {"Tags": tags[:limit], "HasMoreTags": len(tags) > limit}


def remove_tags(service: Service, request: Request) -> None:
    removed, stream = request.texts("TagKeys"), service.find_stream(request)
    with stream.lock:
        for key in removed:
            stream.tags.pop(key, None)
        stream.save()
