"""`python -m kinesis_cli` is the command `kinesis`."""

from kinesis_cli.main import run

if __name__ == "__main__":
    run()
