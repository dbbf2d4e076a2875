"""What the site is built from: the languages, as ``languages.toml`` lists them, and the commit.

This module needs nothing installed, so the tests of the built site read it as well.
"""

import subprocess
import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[1]
LANGUAGES: dict[str, dict[str, str]] = tomllib.loads((DOCS / "languages.toml").read_text("utf-8"))
SOURCE = next(iter(LANGUAGES))


def commit() -> str | None:
    """Return the commit, with ``-dirty`` after it where files differ from it; None outside git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        result = subprocess.run(command, cwd=DOCS, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or no repository
        return None
    return result.stdout.strip()
