"""The ``backpass`` command; a subcommand imports its module only when it is called."""

import argparse
from collections.abc import Sequence

import backpass


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="backpass",
        description="Custom autograd Functions and losses for PyTorch, with proved gradients.",
        epilog=f"Documentation: {_documentation()}",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {backpass.__version__}")
    parser.parse_args(argv)
    parser.print_help()
    return 0


def _documentation() -> str:
    # The address is stated once, in the package's metadata.
    from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415

    try:
        urls = metadata("backpass").get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    pairs = [url.split(", ", 1) for url in urls]
    return next((url for label, url in pairs if label == "Documentation"), "see README.md")
