"""
Lets the Python processes that Spark starts, planners and workers alike, log what `kinesis_core` says into one file.

Python imports a module of this name at its start, from wherever PYTHONPATH has one.
"""

import logging
import os

from support.python_log import VARIABLE

if VARIABLE in os.environ:
    handler = logging.FileHandler(os.environ[VARIABLE])
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("kinesis_core")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
