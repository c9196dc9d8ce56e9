"""The options of a second stream, which a command writes to."""

from __future__ import annotations

from attrs import evolve, frozen
from cyclopts import Group, Parameter

from kinesis_cli.connecting import Connect

GROUP = Group("Destination", sort_key=101)


@Parameter(name="*", group=GROUP)
@frozen(kw_only=True)
class Destination:
    """How to reach the destination. What is not given is as for the source."""

    to_region: str | None = None
    "The region of the destination. Default: that of its ARN, else as for the source."
    to_endpoint_url: str | None = None
    "Another endpoint of Kinesis for the destination. Default: as for the source, if the region is the same."
    to_profile: str | None = None
    "A profile of the AWS configuration files, for the destination."
    to_role_arn: str | None = None
    "A role to assume for the destination, such as one of another account."
    to_external_id: str | None = None
    "The external ID that this role asks for."

    def connect(self, stream: str, source: Connect) -> Connect:
        """Return the connection to the destination *stream*, next to that of the *source*."""
        is_elsewhere = self.to_region is not None or stream.startswith("arn:")
        found = evolve(
            source,
            region=self.to_region or (None if is_elsewhere or self.to_endpoint_url else source.region),
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
