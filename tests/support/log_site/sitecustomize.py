"""
Lets the Python processes that Spark starts, planners and workers alike, log what `kinesis_core` says into one file.

Python imports a module of this name at its start, from wherever PYTHONPATH has one.
"""

import logging
import os
from pathlib import Path

from support.python_log import VARIABLE

# A JVM that serves a second session hands on the folder of the first, which is gone.
if VARIABLE in os.environ and Path(os.environ[VARIABLE]).parent.is_dir():
    handler = logging.FileHandler(os.environ[VARIABLE])
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("kinesis_core")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
