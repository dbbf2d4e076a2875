"""Link every page to its source in the repository, and an example to where it can be run.

All links come from one address, ``DOCS_REPOSITORY`` or else ``Repository`` in pyproject.toml; without
it there are none. Where the site itself is published in a branch of the repository,
``DOCS_PUBLISHED`` names the branch and the folder, as in ``gh-pages/dev``; then the notebooks lie
there, and Colab and Binder can open them.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from gallery_pages import is_example

BRANCH = "main"
PACKAGES = {"matplotlib": "matplotlib", "skimage": "scikit-image"}  # besides backpass's own
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


def owner_and_name(repository: str) -> str:
    """Return ``owner/name`` of an address."""
    match = GITHUB.fullmatch(repository)
    if match is None:
        raise ExtensionError(
            f"repository_links: expected https://github.com/<owner>/<name>, got {repository!r};"
            " set DOCS_REPOSITORY, or Repository in pyproject.toml"
        )
    return match[1]


def revision(commit: str | None) -> str | None:
    """Return the commit, if it holds exactly what was executed."""
    return None if commit is None or commit.endswith("-dirty") else commit


def installation(repository: str, commit: str | None, code: str) -> str | None:
    """Return the code of a cell that installs what an example imports; None without a repository."""
    if not repository:
        return None
    packages = [name for module, name in PACKAGES.items() if re.search(rf"\b{module}\b", code)]
    extra = "[style]" if "backpass.style" in code else ""
    at = f"@{revision(commit)}" if revision(commit) else ""
    address = f"git+https://github.com/{owner_and_name(repository)}{at}"
    return f'%pip install --quiet {" ".join(packages)} "backpass{extra} @ {address}"'


def source(app: Sphinx, docname: str) -> str:
    """Return the file that somebody edits to change a page, from the root of the repository."""
    root = Path(app.confdir).parent
    if docname.startswith("gallery/"):
        place = Path("examples", docname.removeprefix("gallery/"))
        path = (
            place.with_suffix(".py") if is_example(docname) else place.parent / "GALLERY_HEADER.rst"
        )
    else:
        files = [Path(app.srcdir, file).resolve() for file in app.env.dependencies[docname]]
        # A page may only include a file of the repository, such as the changelog.
        included = [file for file in files if file.parent == root and file.suffix == ".md"]
        path = (included or [Path(app.env.doc2path(docname))])[0].relative_to(root)
    if not (root / path).is_file():
        raise ExtensionError(
            f"repository_links: expected {docname} to come from {path}, got no such file"
        )
    return path.as_posix()


def add_links(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add ``links``, by name; ``page.html`` knows their labels."""
    repository = app.config.html_context["repository"]
    if not repository or doctree is None:
        return
    project = owner_and_name(repository)
    address, path = f"https://github.com/{project}", source(app, pagename)
    links = context["links"] = {}
    if is_example(pagename):
        branch, _, folder = app.config.html_context["published"].partition("/")
        if branch:
            language = app.config.languages[app.config.language]["folder"]
            notebook = "/".join(filter(None, [folder, language, f"{pagename}.ipynb"]))
            links["colab"] = (
                f"https://colab.research.google.com/github/{project}/blob/{branch}/{notebook}"
            )
            links["binder"] = (
                f"https://mybinder.org/v2/gh/{project}/{branch}?labpath={quote(notebook, safe='')}"
            )
        commit = revision(context["execution"]["commit"]) or BRANCH
        links["source"] = f"{address}/blob/{commit}/{path}"
    catalogue = Path(app.srcdir, "locales", app.config.language, "LC_MESSAGES", f"{pagename}.po")
    if catalogue.is_file():
        translation = catalogue.relative_to(Path(app.confdir).parent).as_posix()
        links["translation"] = f"{address}/edit/{BRANCH}/{translation}"
    else:
        links["page"] = f"{address}/edit/{BRANCH}/{path}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the links before the page is rendered."""
    app.connect("html-page-context", add_links, priority=600)  # after "execution"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
