"""Describe every page to search engines and to those who share it, in the page's language.

The description is the one in the page's front matter, or its first paragraph; the picture is the
page's first figure.
"""

from pathlib import PurePosixPath
from typing import Any

from babel.core import get_global
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx_gallery.directives import imgsgnode

PICTURE = "sphx_glr_plot_style_loss_002.png"  # for a page without figures


def description(doctree: nodes.document) -> str:
    """Return the description in the front matter, or the first paragraph of the page."""
    for meta in doctree.findall(nodes.meta):
        if meta.get("name") == "description":
            return str(meta["content"])
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            return " ".join(paragraph.astext().split())
    return ""


def picture(doctree: nodes.document | None) -> str:
    """Return the name of the first figure."""
    figures = doctree.findall(imgsgnode) if doctree is not None else []
    return next((PurePosixPath(figure["uri"]).name for figure in figures), PICTURE)


def locale(code: str) -> str:
    """Return a language with its territory, the likely one where none is named."""
    likely = get_global("likely_subtags").get(code, code).split("_")
    return code if "_" in code else f"{likely[0]}_{likely[-1]}"


def describe(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add ``sharing``, from which ``page.html`` writes the meta tags."""
    made = {  # pages without a source
        "genindex": (_("Index"), _("Every documented name of backpass, in alphabetical order.")),
        "search": (_("Search"), _("Search the lessons, the guide and the reference of backpass.")),
    }
    title, text = made[pagename] if doctree is None else (context["title"], description(doctree))
    context["sharing"] = {
        "title": title,
        "description": text,
        "image": f"{app.config.html_baseurl}_images/{picture(doctree)}",
        "locale": locale(app.config.language),
        "alternates": [locale(c) for c in app.config.languages if c != app.config.language],
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the description before the page is rendered."""
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
