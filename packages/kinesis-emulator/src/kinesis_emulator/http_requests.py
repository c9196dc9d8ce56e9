"""Reads HTTP requests."""

from __future__ import annotations

import re
from io import BufferedIOBase

from kinesis_emulator.errors import AwsError
from kinesis_emulator.requests import Request
from kinesis_emulator.wire_formats import WireFormat

_TARGET_PREFIX = "Kinesis_20131202."
_SCOPE = re.compile(r"Credential=([^/,\s]+)/\d+/([^/,\s]+)/")


def read_head(stream: BufferedIOBase) -> tuple[str, dict[str, str]] | None:
    """Return the request line, and the headers by lower-case name; None at the end of the connection."""
    line = stream.readline(65536).decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    headers: dict[str, str] = {}
    while True:
        header = stream.readline(65536).decode("latin-1").rstrip("\r\n")
        if not header:
            return line, headers
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()


def parse_request(
    line: str, headers: dict[str, str], body: bytes, wire_format: WireFormat, default_region: str
) -> Request:
    """
    Return the call that a request makes.

    Raises:
        AwsError: It is not a call of Kinesis, or its body is malformed.
    """
    target = headers.get("x-amz-target", "")
    if not line.startswith("POST ") or not target.startswith(_TARGET_PREFIX):
        raise AwsError(
            "UnknownOperationException", f"This is a Kinesis emulator; got {line.split(' ')[0]} {target}."
        )
    params = wire_format.decode(body)
    scope = _SCOPE.search(headers.get("authorization", ""))
    access_key, region = scope.groups() if scope else ("", default_region)
    signed_at = headers.get("x-amz-date", "")
    return Request(
        target.removeprefix(_TARGET_PREFIX), params, region, access_key, signed_at, wire_format.name
    )
