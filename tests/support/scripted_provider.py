"""Credential providers as users write them: some keep the contract, some break it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from attrs import define
from botocore.credentials import Credentials

number = 7


@define
class Scripted:
    """A provider whose parameter chooses its behaviour."""

    how: str = "none"

    def get_credentials(self) -> Any:
        keys = {"AccessKeyId": "key", "SecretAccessKey": "secret"}
        match self.how:
            case "none":
                return keys
            case "token":
                return {**keys, "SessionToken": "token", "Expiration": "2099-01-01T00:00:00Z"}
            case "botocore":
                return Credentials("key", "secret", "token")
            case "over":
                return {**keys, "Expiration": datetime.now(timezone.utc) - timedelta(hours=1)}
            case "no-zone":
                return {**keys, "Expiration": "2099-01-01T00:00:00"}
            case "half":
                return {"AccessKeyId": "key"}
            case "offline":
                raise ConnectionError("the vault is offline")
            case _:
                raise RuntimeError(f"cannot open {self.how}")


class Faceless:
    pass
