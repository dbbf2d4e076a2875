"""The built site, which `nox -s docs` must have made: without it these tests fail, not skip."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from bs4 import BeautifulSoup

import sources

if TYPE_CHECKING:
    from pathlib import Path

HTML = sources.DOCS / "_build" / "html"
LANGUAGES = {language["tag"]: language["folder"] for language in sources.LANGUAGES.values()}


@cache
def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def pages(folder: str) -> list[str]:
    root = HTML / folder
    found = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.html"))
    assert found, f"no page in {root}: build the site with `nox -s docs` first"
    return found
