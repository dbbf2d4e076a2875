"""The ``backpass`` command; a subcommand imports its module only when it is called."""

import argparse
import importlib
from collections.abc import Sequence

import backpass

COMMANDS = {"stylize": "paint a picture, or a folder of them, in the style of others"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    listed = "\n".join(f"  {name:<10}{what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="backpass",
        description="Custom autograd Functions and losses for PyTorch, with proved gradients.",
        epilog=f"commands:\n{listed}\n\nDocumentation: {_documentation()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {backpass.__version__}")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="command")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="see backpass COMMAND --help")
    parsed = parser.parse_args(argv)
    if parsed.command is None:
        parser.print_help()
        return 0
    command = importlib.import_module(f"backpass._{parsed.command}")
    status: int = command.main(parsed.arguments)
    return status


def _documentation() -> str:
    # The address is stated once, in the package's metadata.
    from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415

    try:
        urls = metadata("backpass").get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    pairs = [url.split(", ", 1) for url in urls]
    return next((url for label, url in pairs if label == "Documentation"), "see README.md")
