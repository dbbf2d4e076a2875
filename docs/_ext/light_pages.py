"""Let a page load only what it shows: no sheet or script without a use, no picture before its turn.

A picture also gets its size, so that the text below it stays in place when the picture arrives.
"""

import re
import struct
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# What the body of a page must hold for a file of an extension to be of use to it.
NEEDED_BY = {
    "clipboard.min.js": "highlight",
    "copybutton.css": "highlight",
    "copybutton.js": "highlight",
    "sg-tags.js": "sphx-glr-tag",
    "sg_gallery.css": "sphx-glr-",
    "sg_gallery-binder.css": "binder-badge",
    "sg_gallery-dataframe.css": "dataframe",
    "sg_gallery-rendered-html.css": "rendered_html",
}
REST = r"""(?:[^">]|"[^"]*")*?"""  # of a tag, in which a quoted value may hold ">"
PICTURE = re.compile(rf'<img (?={REST}src="[^"]*?([^"/]+\.png)")(?!{REST}\b(?:width|loading)=)')


@cache
def pictures(source: Path) -> dict[str, Path]:
    """Return the pictures of the lessons by name; sphinx-gallery makes the names unique."""
    return {path.name: path for path in source.glob("gallery/**/*.png")}


def size(picture: Path) -> tuple[int, int]:
    """Return the width and height that a PNG states at its beginning."""
    width, height = struct.unpack(">16xII", picture.read_bytes()[:24])
    return width, height


def lighten(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Drop the files that the page has no use for, and let its pictures load when they come near."""
    body = context.get("body", "")
    for kind in ("css_files", "script_files"):
        context[kind] = [
            file
            for file in context[kind]
            if NEEDED_BY.get(Path(str(getattr(file, "filename", file))).name, "") in body
        ]

    def sized(match: re.Match[str]) -> str:
        picture = pictures(Path(app.srcdir)).get(match[1])
        if picture is None:
            return match[0]
        width, height = size(picture)
        return f'<img loading="lazy" width="{width}" height="{height}" '

    if body:
        context["body"] = PICTURE.sub(sized, body)


def setup(app: Sphinx) -> dict[str, bool]:
    """Come after the extensions that add to the context."""
    app.connect("html-page-context", lighten, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
