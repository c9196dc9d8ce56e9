"""A provider of credentials as a user writes one: imported by its dotted path, on driver and executors."""

from __future__ import annotations


class Vault:
    """Gives keys whose id is in its parameter, `<key id>:<password>`."""

    def __init__(self, param: str) -> None:
        self._key_id, _, self._password = param.partition(":")

    def get_credentials(self) -> dict[str, str]:
        if not self._key_id:
            raise PermissionError(f"the vault does not open with {self._password}")
        return {"AccessKeyId": self._key_id, "SecretAccessKey": "SecretOfTheVault"}
