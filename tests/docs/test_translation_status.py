"""The status page counts what a translation lacks, alike in every language."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.testing.util import SphinxTestApp

CONF = """
import sys
sys.path.insert(0, {extensions!r})
extensions = ["translation_status"]
languages = {{"en": {{"name": "English"}}, "zh_CN": {{"name": "简体中文"}}}}
locale_dirs, gettext_compact = ["locales"], False
def setup(app):
    app.add_config_value("languages", {{}}, "html")
"""
PAGE = "Title\n=====\n\nOne thing.\n\nTwo things.\n\nThree things.\n\n.. translation-status::\n"
CATALOGUE = """
msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\\n"

msgid "Title"
msgstr "标题"

msgid "One thing."
msgstr ""

#, fuzzy
msgid "Two things."
msgstr "两件事。"

msgid "What the page said."
msgstr "页面从前的话。"
"""


def build(root: Path, language: str) -> BeautifulSoup:
    extensions = str(Path(__file__).parents[2] / "docs" / "_ext")
    (root / "conf.py").write_text(CONF.format(extensions=extensions), "utf-8")
    app = SphinxTestApp("html", srcdir=root, confoverrides={"language": language})
    app.build()
    page = BeautifulSoup((Path(app.outdir) / "index.html").read_text("utf-8"), "html.parser")
    app.cleanup()
    return page


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.filterwarnings("ignore")
def test_missing_and_stale_messages_are_counted_and_listed(tmp_path, language):
    (tmp_path / "index.rst").write_text(PAGE, "utf-8")
    po = tmp_path / "locales" / "zh_CN" / "LC_MESSAGES" / "index.po"
    po.parent.mkdir(parents=True)
    po.write_text(CATALOGUE, "utf-8")
    page = build(tmp_path, language)
    first = [cell.get_text() for cell in page.select("tbody tr")[0].select("td")]
    assert first == ["Title" if language == "en" else "标题", "4", "2", "2"]
    assert [code.get_text() for code in page.select("li code")] == [
        "One thing.", "Three things.", "Two things.", "What the page said.",
    ]  # fmt: skip
    assert "1 of 4 messages are translated, 2 are stale" in page.get_text()

    po.write_text(CATALOGUE.replace('One thing."\nmsgstr ""', 'One thing."\nmsgstr "一件事。"'))
    page = build(tmp_path, language)  # nothing but a catalogue has changed
    first = [cell.get_text() for cell in page.select("tbody tr")[0].select("td")]
    assert first[1:] == ["4", "1", "2"]
