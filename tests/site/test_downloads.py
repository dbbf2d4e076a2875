"""What a page offers to download is in its language and holds what the page shows."""

import ast
import json
import os
import re
import tomllib
from zipfile import ZipFile

from built_site import HTML, LANGUAGES, parse

HAN = re.compile(r"[\u3400-\u9fff]")
KINDS = {"scripts": ".py", "notebooks": ".ipynb"}
PROJECT = tomllib.loads((HTML.parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def outputs(soup):
    """What the code of a page printed, and how often it drew."""
    texts = [pre.get_text().strip("\n") for pre in soup.select(".sphx-glr-script-out pre")]
    return texts, len(soup.select("article img[class^=sphx-glr]"))


def test_a_notebook_holds_the_outputs_of_its_page(folder, build):
    for page in build["examples"]:
        soup = parse(HTML / folder / page)
        notebook = json.loads((HTML / folder / page).with_suffix(".ipynb").read_text("utf-8"))
        shown = [o for c in notebook["cells"] for o in c.get("outputs", [])]
        texts = ["".join(o["text"]).strip("\n") for o in shown if o["output_type"] == "stream"]
        drawn = [o["data"]["image/png"] for o in shown if "image/png" in o.get("data", {})]
        assert (texts, len(drawn)) == outputs(soup), page
        assert texts, page
        assert drawn, page


def test_the_prose_of_a_download_is_in_the_language_of_its_page(folder, build):
    for page in build["examples"]:
        title = parse(HTML / folder / page).select_one("article h1")
        name = "".join(title.find_all(string=True)[:1]).strip()
        script = (HTML / folder / page).with_suffix(".py").read_text("utf-8")
        notebook = json.loads((HTML / folder / page).with_suffix(".ipynb").read_text("utf-8"))
        markdown = "".join(notebook["cells"][0]["source"]).replace("\\", "")
        for text in (ast.get_docstring(ast.parse(script)).replace("``", ""), markdown):
            assert bool(HAN.search(text)) == (folder == "zh-cn"), page
            assert name.split("`")[0] in text, page


def test_an_archive_holds_all_the_downloads_of_one_language_and_no_time(folder, build):
    for kind, suffix in KINDS.items():
        with ZipFile(HTML / folder / "gallery" / f"{kind}.zip") as archive:
            expected = sorted(p.removeprefix("gallery/")[:-5] + suffix for p in build["examples"])
            assert archive.namelist() == expected
            for entry in archive.infolist():
                assert (
                    archive.read(entry) == (HTML / folder / "gallery" / entry.filename).read_bytes()
                )
                assert entry.date_time == (1980, 1, 1, 0, 0, 0)
                assert (entry.external_attr >> 16, entry.create_system) == (0o100644, 3)


def test_the_page_of_the_gallery_links_the_archives_under_names_that_say_the_language(folder):
    links = parse(HTML / folder / "gallery/index.html").select(".about-this-page a[download]")
    assert {a["href"]: a["download"] for a in links} == {
        f"{kind}.zip": f"backpass-{kind}-{folder}.zip" for kind in KINDS
    }
    assert all(bool(HAN.search(a.get_text())) == (folder == "zh-cn") for a in links)


def test_links_into_the_repository_are_there_if_it_is_configured_and_else_left_out(folder, build):
    configured = PROJECT["urls"].get("Repository", "")
    repository = os.environ.get("DOCS_REPOSITORY", configured).removeprefix("https://github.com/")
    for page in [*build["examples"], "index.html", "reference/functions.html"]:
        links = parse(HTML / folder / page).select(".about-this-page a:not([download])")
        assert bool(links) == bool(repository), page
        assert all(repository in link["href"] for link in links), page


def test_a_page_states_its_execution_as_build_json_does(folder, build):
    sentences = {
        "en": "Executed with Python {python}, PyTorch {torch} and backpass {backpass}",
        "zh-cn": "运行环境：Python {python}、PyTorch {torch}、backpass {backpass}",
    }
    commits = {"en": " · commit {commit}", "zh-cn": " · 提交 {commit}"}
    dates = {"en": " · executed on {date}", "zh-cn": " · 运行日期 {date}"}
    for page, record in build["examples"].items():
        about = parse(HTML / folder / page).select_one(".about-this-page p:last-child")
        facts = record["execution"]
        commit = commits[folder] if facts["commit"] else ""
        expected = (sentences[folder] + commit + dates[folder]).format(**facts)
        assert " ".join(about.get_text().split()) == expected, page
        assert (facts["torch"], facts["backpass"]) == (build["torch"], build["backpass"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])


def test_the_button_that_copies_code_is_translated():
    tags = set(LANGUAGES) - {"en"}
    script = (HTML / "zh-cn/_static/copybutton.js").read_text("utf-8")
    labels = {tag: re.search(rf"'{tag}': {{(.*?)}}", script, re.S) for tag in tags}
    assert tags
    assert all(label and HAN.search(label[1]) for label in labels.values())
