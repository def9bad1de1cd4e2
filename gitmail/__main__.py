"""The command `gitmail`."""


def main() -> None:
    """Run the command line and exit with its code."""
