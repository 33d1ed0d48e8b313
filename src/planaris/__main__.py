"""``python -m planaris``: the command line."""

from planaris.cli.main import run

if __name__ == "__main__":
    run()
