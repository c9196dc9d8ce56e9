"""Whether the signature of a received request is the one that botocore makes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

_AUTHORIZATION = re.compile(
    r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<names>[^,]+), Signature=(?P<signature>\w+)"
)


def is_signed_with(secret: str, headers: Mapping[str, str], url: str, body: bytes) -> bool:
    """Return whether *secret* made the signature of a request to *url*. *headers* are by lower-case name."""
    found = _AUTHORIZATION.search(headers["authorization"])
    assert found is not None
    signed = {name: headers[name] for name in found["names"].split(";")}
    request = AWSRequest("POST", url, signed, body)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(Credentials(found["key"], secret), found["service"], found["region"])
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return bool(auth.signature(text, request) == found["signature"])
