"""A third language: every message becomes ⟦message⟧, and what a reader sees without brackets is a leak.

The real documentation is built, in a copy. Where the gallery has been executed already, its outputs
are taken along.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest
import sphinx
from bs4 import BeautifulSoup

from catalogue_rules import needs_translation

ROOT = Path(__file__).parents[2]
ENTRY = '\n[en_XA]\nname = "⟦Pseudo⟧"\ntag = "en-XA"\nfolder = "en-xa"\nsmartquotes = "D"\n'
# What no language translates, each for its reason.
UNTRANSLATED = {
    "code, what it prints, and the drawing of a graph": "code, pre, svg, .output_subarea",
    "signatures, and the names of parameters and exceptions": "dt.sig, .field-list strong",
    "mathematics": "math",
    "what is no text": "script, style, template",
    "the second half of an index entry that Sphinx has cut in two": ".indextable ul ul",
    "the names of the languages": ".languages",
}
NAMES = r"backpass(\.\w+)*|PyTorch|Python|Sphinx|Furo|@pradyunsg|\d\sms\b"
BLOCKS = [
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "td",
    "th",
    "dt",
    "dd",
    "figcaption",
    "caption",
    "div",
    "nav",
    "aside",
    "title",
    "label",
    "summary",
    "button",
    "section",
    "article",
    "body",
    "main",
    "header",
    "footer",
    "ul",
    "ol",
]
# Titles of references are names of objects, and the labels in a figure are code.
ATTRIBUTES = {
    "title": "[title]:not(a.reference)",
    "alt": "[alt]:not([class^=sphx-glr])",
    "aria-label": "[aria-label]",
    "placeholder": "[placeholder]",
    "value": "[value]:not([type=hidden])",
    "content": "meta:is([name=description], [property$=title], [property$=description], [property$=site_name], [property$=alt])",
}


def mark(entry: polib.POEntry) -> None:
    """Put the brackets around a message, and leave markup that must end it at the end."""

    def marked(text: str) -> str:
        head, body, tail = re.fullmatch(r"(\s*)(.*?)((?:::)?\s*)", text, re.S).groups()
        return f"{head}⟦{body}⟧{' ' if tail.startswith('::') else ''}{tail}"

    if entry.msgid_plural:
        entry.msgstr_plural = {0: marked(entry.msgid), 1: marked(entry.msgid_plural)}
    else:
        entry.msgstr = marked(entry.msgid)


def write(path: Path, entries: list[polib.POEntry]) -> None:
    catalogue = polib.POFile(wrapwidth=0)
    catalogue.metadata = {
        "Content-Type": "text/plain; charset=utf-8",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    for entry in entries:
        copy = polib.POEntry(msgid=entry.msgid, msgid_plural=entry.msgid_plural)
        mark(copy)
        catalogue.append(copy)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue.save(str(path))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pseudo")
    ignored = shutil.ignore_patterns("_build", "__pycache__", "*.mo", "zh_CN")
    for name in ("docs", "src", "examples", "benchmarks"):
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in ("pyproject.toml", "constraints.txt", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, root / name)
    languages = (root / "docs/languages.toml").read_text("utf-8").split("\n[zh_CN]")[0]
    (root / "docs/languages.toml").write_text(languages + ENTRY, "utf-8")

    def build(*arguments: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "MPLBACKEND": "Agg"}
        command = [sys.executable, "docs/build.py", *arguments]
        result = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr

    build("gettext")
    templates = root / "docs/_build/gettext"
    for template in templates.rglob("*.pot"):
        name = template.relative_to(templates).with_suffix(".po")
        messages = [e for e in polib.pofile(str(template)) if needs_translation(e.msgid)]
        write(root / "docs/locales/en_XA/LC_MESSAGES" / name, messages)
    theme = polib.pofile(str(ROOT / "docs/theme_locales/zh_CN/LC_MESSAGES/sphinx.po"))
    own = polib.pofile(str(Path(sphinx.__file__).parent / "locale/sphinx.pot"))
    entries = {entry.msgid: entry for entry in [*own, *theme]}
    write(root / "docs/theme_locales/en_XA/LC_MESSAGES/sphinx.po", list(entries.values()))
    build()
    return root / "docs/_build/html"


def bare(text: str) -> str:
    """Return what stands outside of all brackets, without names."""
    while text != (text := re.sub(r"⟦[^⟦⟧]*⟧", " ", text)):
        pass
    return " ".join(re.sub(NAMES, "", text).split())


def leaks(page: BeautifulSoup):
    """Yield every text of a page that is not marked."""
    for tag in page.select(", ".join(UNTRANSLATED.values())):
        tag.decompose()
    for attribute, selector in ATTRIBUTES.items():
        for tag in page.select(selector):
            if re.search("[A-Za-z]{2,}", bare(tag[attribute])):
                yield f"{attribute}={tag[attribute]!r}"
    groups: dict[int, list[str]] = {}
    for text in page.find_all(string=True):
        if type(text).__name__ == "NavigableString":
            groups.setdefault(id(text.find_parent(BLOCKS)), []).append(text)
    for group in groups.values():
        rest = bare("".join(group))
        if re.search("[A-Za-z]{2,}", rest):
            yield rest


def test_every_text_that_a_reader_sees_can_be_translated(site):
    pages = sorted([*(site / "en-xa").rglob("*.html"), *site.glob("*.html")])
    assert len(pages) > 30
    found = {}
    for path in pages:
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        if path.parent == site:  # these speak every language
            assert page.select("[lang=en-XA]")
            for tag in page.select("title, meta, :not(html)[lang=en]"):
                tag.decompose()
        for leak in leaks(page):
            found.setdefault(leak, path.relative_to(site).as_posix())
    report = "\n".join(f"{page}: {leak}" for leak, page in found.items())
    print(f"{len(pages)} pages, {len(found)} leaks")
    assert not found, report


def test_the_text_in_style_sheets_is_replaced_on_the_pages(site):
    words = set()
    for sheet in (site / "en-xa").rglob("*.css"):
        text = sheet.read_text("utf-8")
        words |= set(re.findall(r"content: ?\"([^\"]*[A-Za-z]{2,}[^\"]*)\"", text))
    # The other one is a word of furo to those who write pages.
    assert {word.split(":")[0] for word in words} == {"Out", "ERROR"}
    page = next((site / "en-xa/gallery").rglob("plot_*.html")).read_text("utf-8")
    assert 'content: "⟦Out:⟧"' in page


def test_the_scripts_speak_the_language_of_their_page(site):
    scripts = sorted((site / "en-xa/gallery").rglob("plot_*.py"))
    assert scripts
    for script in scripts:
        original = ROOT / "examples" / script.relative_to(site / "en-xa/gallery")
        text, source = script.read_text("utf-8"), original.read_text("utf-8")
        assert text.startswith('r"""\n⟦'), script.name
        assert text.count("⟦") == text.count("⟧") > source.count("# %%")


@pytest.mark.parametrize(
    "html",
    [
        "<p>⟦One⟧ and two</p>",
        "<div>⟦Text⟧<p>⟦One ⟦two⟧ three⟧</p> tail</div>",
        '<nav aria-label="Site navigation">⟦x⟧</nav>',
        '<img alt="A picture">',
        '<meta name="description" content="About">',
        "<title>Title</title>",
    ],
)
def test_a_planted_leak_is_found(html):
    assert list(leaks(BeautifulSoup(html, "html.parser")))


@pytest.mark.parametrize(
    "html",
    [
        "<p>⟦See ⟦the title⟧ and <code>code</code>⟧ <code>x.y</code> 12</p>",
        '<a class="reference" title="torch.nn.Module">⟦x⟧</a>',
        "<p>backpass.functions 161 ms</p>",
    ],
)
def test_what_no_language_translates_is_no_leak(html):
    assert not list(leaks(BeautifulSoup(html, "html.parser")))
