"""`python -m kinesis_emulator` is the command `kinesis-emulator`."""

import sys

from kinesis_emulator.cli import main

if __name__ == "__main__":
    sys.exit(main())
