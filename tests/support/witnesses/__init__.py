"""
Clients of Kinesis that others wrote, which read and write streams of the emulator: kcl-rs, aiokpl, async-kinesis in a Python of their own.

The programs here run in that Python, which has none of our packages.
"""
