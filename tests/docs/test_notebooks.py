"""A notebook says what its page says, and holds what the page's code printed and drew."""

import ast
import copy
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import nbclient
import nbformat
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from markdown_it import MarkdownIt
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import remove_config_comments, split_code_and_text_blocks

import notebooks

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*/plot_*.py"))
FIRST = list({script.parent: script for script in reversed(EXAMPLES)}.values())[::-1]
REPOSITORY = "https://github.com/example/backpass"
FOLDERS = {"zh_CN": "zh-cn", "en": "en"}
example = pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
folders = pytest.mark.parametrize("folder", FOLDERS.values())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole documentation, built in both languages as if published in a repository."""
    root = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__", "_build", "gallery", "*.mo")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    shutil.copytree(ROOT / "docs/locales", root / "docs/locales", dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples", root / "examples")
    shutil.copytree(ROOT / "benchmarks", root / "benchmarks")
    for path in [*ROOT.glob("*.md"), ROOT / "constraints.txt", ROOT / "pyproject.toml"]:
        shutil.copy(path, root)
    for language, folder in FOLDERS.items():
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "MPLBACKEND": "Agg"}
        environment |= {"DOCS_LANGUAGE": language, "DOCS_PUBLISHED": "gh-pages/dev"}
        environment |= {"DOCS_REPOSITORY": REPOSITORY}
        command = ["sphinx", "-q", "-b", "html"]  # "docs" asks for no warning
        places = ["-d", f"doctrees/{folder}", "docs", f"html/{folder}"]
        result = subprocess.run(
            [sys.executable, "-m", *command, *places],
            cwd=root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
    return root / "html"


def read(site: Path, folder: str, script: Path) -> nbformat.NotebookNode:
    path = site / folder / "gallery" / script.parent.name / f"{script.stem}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert nbformat.writes(notebook) + "\n" == path.read_text("utf-8")
    return notebook


def page(site: Path, folder: str, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / folder / f"{name}.html").read_text("utf-8"), "html.parser")


def code_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[0].metadata.tags == ["install"]
    return cells[1:]


def stripped(outputs: list[nbformat.NotebookNode]) -> list[tuple[str, object]]:
    """What can be compared between two executions: texts, drawings and the number of figures."""
    found: list[tuple[str, object]] = []
    for output in outputs:
        if output.output_type == "stream":
            # reStructuredText, through which the page's text has gone, drops spaces at line ends.
            lines = [line.rstrip() for line in output.text.splitlines()]
            found.append((output.name, "\n".join(lines).strip("\n")))
        elif "text/html" in output.data:
            found.append(("drawing", output.data["text/html"].strip()))
        elif "image/png" in output.data:
            found.append(("figure", None))
        elif not re.search(r"<matplotlib\.|Text\(", output.data["text/plain"]):
            # The site shows no value that has a plain repr alone; Jupyter shows that of a last line
            # that draws. Such a repr holds an address.
            found.append(("value", output.data["text/plain"]))
    return found


# A kernel takes seconds to start, so it is one notebook of each section.
@pytest.mark.parametrize("script", FIRST, ids=lambda path: path.stem)
def test_a_chinese_notebook_runs_to_the_outputs_that_it_holds(site, script, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # as in Jupyter, which shows figures itself
    stored = read(site, "zh-cn", script)
    executed = copy.deepcopy(stored)
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = nbclient.NotebookClient(
        executed,
        resources={"metadata": {"path": str(tmp_path)}},
        skip_cells_with_tag="install",
        coalesce_streams=True,
        timeout=120,
    )
    client.execute()
    for old, new in zip(code_of(stored), code_of(executed), strict=True):
        assert stripped(new.outputs) == stripped(old.outputs), old.source


@example
def test_the_notebooks_of_both_languages_hold_the_code_of_the_script(site, script):
    pair = [code_of(read(site, folder, script)) for folder in FOLDERS.values()]
    assert [(c.source, c.outputs) for c in pair[0]] == [(c.source, c.outputs) for c in pair[1]]
    blocks = split_code_and_text_blocks(script)[1]
    code = [remove_config_comments(b.content).strip() for b in blocks if b.type == "code"]
    assert [cell.source.strip() for cell in pair[0]] == code
    assert any(cell.outputs for cell in pair[0])
    assert sum(o.output_type == "display_data" for c in pair[0] for o in c.outputs)


@folders
@example
def test_the_prose_of_a_notebook_is_that_of_its_page(site, script, folder):
    notebook = read(site, folder, script)
    markdown = MarkdownIt("commonmark").enable("table")
    # Mathematics is left to Jupyter, so its marks are taken away first.
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.search(r":\w+:`", text), "a role is left"
    text = re.sub(r"^\$\$\n.*?\n\$\$$|(?<!\\)\$[^$]+\$", " ", text, flags=re.M | re.S)
    shown = BeautifulSoup(markdown.render(text), "html.parser")
    article = page(site, folder, f"gallery/{script.parent.name}/{script.stem}").select_one(
        "article"
    )
    for extra in article.select(
        "aside, math, .headerlink, .highlight-Python, .sphx-glr-script-out, .output_subarea, .eqno"
    ):
        extra.decompose()
    links = [a["href"] for a in article.select("a[href]")]
    assert words(shown) == words(article)
    assert len(shown.select("a[href]")) == len(links)
    for link in shown.select("a[href]"):
        assert re.match("https://", link["href"]), link


def words(soup: BeautifulSoup) -> str:
    return re.sub(r"\s+", "", soup.get_text())


@folders
def test_a_notebook_links_the_hosted_pages_of_its_language(site, folder):
    found = 0
    for script in EXAMPLES:
        for cell in read(site, folder, script).cells:
            for target in re.findall(r"\]\((https://backpass[^)#]*)", cell.source):
                _, _, name = target.partition(f"/{folder}/")
                assert (site / folder / name).is_file(), target
                found += bool(name)
    assert found > len(EXAMPLES)


@folders
def test_jupyter_finds_a_kernel_and_the_cells_have_fixed_names(site, folder):
    for script in EXAMPLES:
        notebook = read(site, folder, script)
        assert notebook.metadata.kernelspec.name == "python3"
        assert re.fullmatch(r"3\.\d+\.\d+", notebook.metadata.language_info.version)
        assert [c.id for c in notebook.cells] == [f"cell-{i}" for i in range(len(notebook.cells))]
        counts = [cell.execution_count for cell in code_of(notebook)]
        assert counts == list(range(1, len(counts) + 1))


def imported(script: Path) -> set[str]:
    tree = ast.parse(script.read_text("utf-8"))
    found = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    return found | {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}


@folders
def test_the_first_code_cell_installs_from_the_repository(site, folder):
    for script in EXAMPLES:
        cells = read(site, folder, script).cells
        (install,) = [cell for cell in cells if "tags" in cell.metadata]
        # The copy is outside git, so there is no commit to pin.
        assert install.source.endswith(f' @ git+{REPOSITORY}"')
        imports = {n.split(".")[0] for n in imported(script)} - {"torch", *sys.stdlib_module_names}
        installed = install.source.replace("scikit-image", "skimage").removeprefix("%pip install")
        assert all(re.search(rf"[ \"]{name}\b", installed) for name in imports), install.source
        assert cells.index(install) == 1


@folders
def test_an_example_is_opened_where_its_notebook_is_published(site, folder):
    for script in EXAMPLES:
        name = f"gallery/{script.parent.name}/{script.stem}"
        about = page(site, folder, name).select(".about-this-page a:not([download])")
        links = {a.get_text(): a["href"] for a in about}
        addresses = list(links.values())
        blob = f"blob/gh-pages/dev/{folder}/{name}.ipynb"
        assert addresses[0] == f"https://colab.research.google.com/github/example/backpass/{blob}"
        binder, _, place = addresses[1].partition("?labpath=")
        assert binder == "https://mybinder.org/v2/gh/example/backpass/gh-pages"
        assert unquote(place) == f"dev/{folder}/{name}.ipynb"
        assert (site / unquote(place).removeprefix("dev/")).is_file()
        assert addresses[2] == f"{REPOSITORY}/blob/main/examples/{script.parent.name}/{script.name}"
        assert len(links) == 4


@folders
def test_every_page_is_improved_where_its_text_is_written(site, folder):
    pages = [p.relative_to(site / folder).with_suffix("") for p in (site / folder).rglob("*.html")]
    written = [p.as_posix() for p in pages if p.name not in ("genindex", "search")]
    assert len(written) > 30
    targets = Counter()
    for name in written:
        links = page(site, folder, name).select(".about-this-page a[href*='/edit/']")
        (target,) = [a["href"].removeprefix(f"{REPOSITORY}/edit/main/") for a in links]
        assert (ROOT / target).is_file(), target
        assert not target.startswith(("docs/gallery", "docs/_build"))
        assert target.endswith(".po") == (folder == "zh-cn"), target
        targets[target] += 1
    assert set(targets.values()) == {1}
    if folder == "en":
        assert {"CHANGELOG.md", "CONTRIBUTING.md", "docs/index.md"} <= set(targets)
        assert "examples/1_functions/GALLERY_HEADER.rst" in targets


def test_markdown_keeps_what_would_be_markup():
    text = nodes.paragraph("", "2 * 3 * 4, a_b_, $5, <b> and [x](y) stay, \\ too.")
    (markdown,) = notebooks.block(text, "", 1)
    assert words(BeautifulSoup(MarkdownIt().render(markdown), "html.parser")) == words(
        BeautifulSoup("2 * 3 * 4, a_b_, $5, &lt;b&gt; and [x](y) stay, \\ too.", "html.parser")
    )


def test_notes_and_nested_lists_become_markdown():
    inner = nodes.enumerated_list("", nodes.list_item("", nodes.paragraph("", "inner")), start=3)
    item = nodes.list_item("", nodes.paragraph("", "outer"), inner)
    (markdown,) = notebooks.block(
        nodes.bullet_list("", item, nodes.list_item("", nodes.paragraph("", "second"))), "", 1
    )
    assert markdown == "- outer\n\n  3. inner\n- second"
    (markdown,) = notebooks.block(nodes.note("", nodes.paragraph("", "text")), "", 1)
    assert markdown == "> **Note**\n> \n> text"


def test_what_markdown_cannot_hold_fails_the_build():
    with pytest.raises(
        ExtensionError, match=r"notebooks: expected a text that Markdown can hold, got"
    ):
        list(notebooks.block(nodes.figure(), "https://example.org/page.html", 1))
