"""Generated histories would log thousands of lines."""

from __future__ import annotations

import logging

import structlog

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
