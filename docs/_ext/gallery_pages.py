"""Shape the pages that sphinx-gallery generates, so that all their text can be translated.

Its download notes are text with file names in them and its thumbnails hold titles in raw HTML. The
notes are taken out here, and ``page.html`` links the files of ``downloads`` instead; a thumbnail is
left with its cross-reference, whose text Sphinx translates itself.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

NOTE = re.compile(r"^\.\. only:: html\n\n    \.\. note::.*?(?=^\S)", re.M | re.S)
FOOTER = re.compile(r"^\.\. _sphx_glr_download_.*\Z", re.M | re.S)
TITLE = re.compile(r'<div class="sphx-glr-thumbnail-title">.*?</div>', re.S)
TOOLTIP = re.compile(r' tooltip="[^"]*"', re.S)


def is_example(docname: str) -> bool:
    """Say whether a page is an executed example."""
    return docname.startswith("gallery/") and "/plot_" in docname


def drop_notes(app: Sphinx, docname: str, content: list[str]) -> None:
    """Take the download notes out of an example's page."""
    if is_example(docname):
        content[0] = FOOTER.sub("", NOTE.sub("", content[0], count=1))


class PlainThumbnails(SphinxTransform):
    """Take the English titles and tooltips out of the thumbnails."""

    default_priority = 25

    def apply(self, **kwargs: Any) -> None:
        """Rewrite the raw nodes that sphinx-gallery wrote."""
        for node in list(self.document.findall(nodes.raw)):
            if "sphx-glr-thumb" in (text := node.astext()):
                plain = TOOLTIP.sub("", TITLE.sub("", text))
                node.rawsource = plain
                node.children = []
                node.append(nodes.Text(plain))


def drop_removed_pages(app: Sphinx, exception: Exception | None) -> None:
    """Delete what an earlier build wrote for pages that are gone: it would be published."""
    if exception is None and app.builder.format == "html":
        kept = app.env.found_docs | {"genindex", "search"}
        for page in Path(app.outdir).rglob("*.html"):
            if page.relative_to(app.outdir).with_suffix("").as_posix() not in kept:
                for file in page.parent.glob(f"{page.stem}.*"):
                    file.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the reading of pages and to the end of the build."""
    app.connect("source-read", drop_notes)
    app.connect("build-finished", drop_removed_pages)
    app.add_transform(PlainThumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
