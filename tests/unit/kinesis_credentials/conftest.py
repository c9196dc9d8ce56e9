"""These tests do not see the machine's AWS configuration."""

from __future__ import annotations

from support.aws_home import aws_home

__all__ = ["aws_home"]
