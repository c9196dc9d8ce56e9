"""Options are read without the AWS settings of the machine."""

from unit.kinesis_core.options.conftest import no_aws_environment as no_aws_environment
