"""The options of a second stream, which a command writes to."""

from __future__ import annotations

from attrs import evolve, frozen
from cyclopts import Group, Parameter

from kinesis_cli.connecting import Connect
from kinesis_cli.ending import UsageError

GROUP = Group("Destination", sort_key=101)


@Parameter(name="*", group=GROUP)
@frozen(kw_only=True)
class Destination:
    """How to reach the destination. What is not given is as for the source."""

    to_region: str | None = None
    "The region of the destination. Default: the region of its ARN or endpoint, else as for the source."
    to_endpoint_url: str | None = None
    "Another endpoint of Kinesis for the destination. Default: as for the source, if the region is the same."
    to_profile: str | None = None
    "A profile of the AWS configuration files, for the destination."
    to_role_arn: str | None = None
    "A role to assume for the destination, such as one of another account."
    to_external_id: str | None = None
    "The external ID that this role asks for."

    def connect(self, stream: str, source: Connect, source_region: str) -> Connect:
        """Return the connection to the destination *stream*, next to that of the *source*, which is in *source_region*."""
        from kinesis_credentials import find_arn_region
        from kinesis_credentials.endpoints import BadUrlError, find_endpoint_region, verify_url

        if self.to_endpoint_url is not None:
            try:
                verify_url(self.to_endpoint_url)
            except BadUrlError as error:
                raise UsageError(f"--to-endpoint-url {error}") from None
        of_arn = find_arn_region(stream) if stream.startswith("arn:") else None
        named = self.to_region or of_arn or find_endpoint_region(self.to_endpoint_url or "")
        is_elsewhere = named not in (None, source_region)
        found = evolve(
            source,
            region=self.to_region or (None if named else source.region),
            endpoint_url=self.to_endpoint_url or (None if is_elsewhere else source.endpoint_url),
        )
        if self.to_profile is not None:
            found = evolve(found, profile=self.to_profile, role_arn=None, external_id=None)
        if self.to_role_arn is not None:
            found = evolve(found, role_arn=self.to_role_arn, external_id=None)
        if self.to_external_id is not None:
            found = evolve(found, external_id=self.to_external_id)
        return found


SAME = Destination()
