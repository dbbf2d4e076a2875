"""Pack all scripts, and all notebooks, of one language into an archive beside the gallery's page."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from docutils import nodes
from sphinx.application import Sphinx

from gallery_pages import is_example

SUFFIXES = {"scripts": ".py", "notebooks": ".ipynb"}


def name_archives(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give the gallery's page the names under which a reader keeps them: they say the language."""
    if pagename == "gallery/index":
        folder = app.config.languages[app.config.language]["folder"]
        context["archives"] = {kind: f"backpass-{kind}-{folder}.zip" for kind in SUFFIXES}


def pack(archive: Path, files: Iterable[Path]) -> None:
    """Pack files by the names of their last two folders; the same files give the same bytes."""
    with ZipFile(archive, "w") as packed:
        for file in sorted(files):
            # Left to itself, an entry tells the time, the permissions and the system of its maker.
            entry = ZipInfo("/".join(file.parts[-2:]), (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            packed.writestr(entry, file.read_bytes(), ZIP_DEFLATED, compresslevel=9)


def write_archives(app: Sphinx, exception: Exception | None) -> None:
    """Pack what "downloads" has laid beside the pages."""
    if exception is None and app.builder.format == "html":
        for kind, suffix in SUFFIXES.items():
            names = (f"{n}{suffix}" for n in app.env.found_docs if is_example(n))
            target = Path(app.outdir, "gallery", f"{kind}.zip")
            pack(target, (Path(app.outdir, name) for name in names))


def setup(app: Sphinx) -> dict[str, bool]:
    """Come after "downloads"."""
    app.connect("html-page-context", name_archives)
    app.connect("build-finished", write_archives, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
