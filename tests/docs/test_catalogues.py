"""The check of the catalogues: each fault is planted and must be reported; today's text has none."""

import re
import subprocess
import sys
from pathlib import Path

import polib
import pytest

import catalogues
from catalogue_rules import PARTS, TYPOGRAPHY, faults, glossary, needs_translation

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "docs").glob("*locales/zh_CN/LC_MESSAGES/**/*.po"))
PLANTED = [
    ("Call ``apply``.", "调用 ``apply()``。", "literals differ"),
    ("See :func:`a.b`.", "参见 ``a.b``。", "roles differ"),
    ("See :ref:`the guide <a>`.", "参见 :ref:`指南 <b>`。", "roles differ"),
    ("See {ref}`a`.", "参见 {doc}`a`。", "roles differ"),
    ("See [PyTorch](https://a.org/x).", "见 [PyTorch](https://a.org/y)。", "links differ"),
    ("Where $x$ is 0.", "在 $y$ 等于 0 处。", "mathematics differ"),
    ("Executed with %(torch)s", "运行环境：", "placeholders differ"),
    ("Version |release|", "版本", "placeholders differ"),
    ("All of it.", "全部,", "half-width punctuation beside Han"),
    ("All (of x).", "全部(对 x)。", "half-width parenthesis around Han"),
    ('It is "so".', '是"这样"。', "straight quote beside Han"),
    ("All - of it.", "全部--它的。", "dash of hyphens"),
    ("The size of x", "x的大小", "no space between Han and Latin"),
    ("Call ``apply`` now.", "现在调用``apply``。", "no space between Han and markup"),
    ("See {ref}`x`.", "参见{ref}`x`。", "no space between Han and markup"),
    ("You can.", "您可以。", "您"),
    ("All of it.", "全部。。", "doubled punctuation"),
    ("All of it.", "全部 。", "space before punctuation"),
    ("**Not so.** All.", "**不对。**全部。", "punctuation inside bold"),
    ("L. A. Gatys, a paper", "L. A. Gatys，论文", "an initial that reads as the number of a list"),
]  # fmt: skip


def rules(source, text):
    return [fault.rule for fault in faults(source, text)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT / "docs").as_posix())
def test_no_catalogue_breaks_a_rule(path):
    found = list(catalogues.wrong(path, "zh_CN"))
    assert not found, "\n".join(found)


def test_the_chinese_readme_is_set_as_the_catalogues_are():
    assert not list(catalogues.typography(ROOT / "README.zh-CN.md", "markdown"))


@pytest.mark.parametrize(("source", "text", "rule"), PLANTED)
def test_a_planted_fault_is_caught(source, text, rule):
    assert rule in rules(source, text)


def test_every_rule_has_a_planted_fault():
    assert {rule for _, _, rule in PLANTED} == {*TYPOGRAPHY, *(f"{kind} differ" for kind in PARTS)}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Call :func:`~a.b` and ``c``.", "先调用 ``c``，再调用 :func:`~a.b`。"),
        ("See :ref:`the guide <a>`.", "参见 :ref:`指南 <a>`。"),
        ("The gradients of $x$ (so far)", "目前 $x$ 的梯度"),
        ("Two gradchecks", "两次梯度检验（gradcheck）"),
        ("A. Author, *The loss of gradients*, 2016", r"\A. Author, *The loss of gradients*, 2016"),
        ("It raises.", "会报错。"),
        ("`loss` and ``node``", "`loss` 和 ``node``"),
    ],
)
def test_a_right_translation_is_left_alone(source, text):
    assert not rules(source, text)


def test_every_word_to_avoid_is_caught():
    words = [(term, word) for term in glossary() for word in term.avoid]
    assert len(words) > 100
    for term, word in words:
        assert f"glossary: {word!r} for {term.en!r}" in rules("x", f"这里有{word}。"), word


def test_a_term_without_its_translation_is_caught():
    assert "glossary: no translation of 'kink'" in rules("At two kinks.", "在两处。")
    assert "glossary: no translation of 'Gram matrix'" in rules("A Gram\nmatrix.", "一个矩阵。")
    assert "glossary: no translation of 'saved tensor'" in rules("A saved-tensor hook", "hook")


def test_the_glossary_page_names_each_term_as_the_list_does():
    page = ROOT / "docs" / "locales" / "zh_CN" / "LC_MESSAGES" / "guide" / "glossary.po"
    shown = {entry.msgid: entry.msgstr for entry in polib.pofile(str(page))}
    terms = [term for term in glossary() if term.means]
    assert len(terms) > 30
    for term in terms:
        assert shown[term.means]
        assert re.split("（", shown[term.en])[0] in term.accepted, term.en
    # Besides the terms, the page has a title, an introduction and a description.
    assert len(shown) == 2 * len(terms) + 3


@pytest.mark.parametrize(
    ("message", "needed"),
    [
        ("The gradient is zero.", True),
        ("Raises", True),
        (r"y = \max(x, 0) \qquad \bar{x} = \bar{y}", False),
        ("``float64``", False),
        (":func:`backpass.functions.relu`", False),
        ("{ref}`guide-mental-model`", False),
        ("Where :math:`x` is NaN, the cotangent passes.", True),
        ("$y = x$", False),
        ("3", False),
    ],
)
def test_only_messages_with_words_need_a_translation(message, needed):
    assert needs_translation(message) is needed


def catalogue(path, *entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=utf-8"}
    file.extend([polib.POEntry(msgid=m, msgstr=s, flags=list(f)) for m, s, *f in entries])
    file.save(str(path))
    return path


def test_each_problem_is_reported_with_its_place_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = ["One thing", "Two things", "Three things", "Five things", "Six things"]
    catalogue(Path("pot/page.pot"), *[(message, "") for message in said])
    po = catalogue(
        Path("zh_CN/LC_MESSAGES/page.po"),
        ("One thing", "一件事,"), ("Two things", "两件事", "fuzzy"), ("Four things", "四件事"),
        ("Five things", ""), ("Six things", "六件事"),
    )  # fmt: skip
    po.write_text(po.read_text("utf-8") + '\n#~ msgid "Seven"\n#~ msgstr "七"\n', "utf-8")
    catalogue(Path("zh_CN/LC_MESSAGES/gone.po"), ("Gone", "没了"))
    assert list(catalogues.problems(Path("pot"), Path(), Path("theme"))) == [
        f"zh_CN/LC_MESSAGES/{line}"
        for line in """\
gone.po:1: no page has this catalogue; run `nox -s messages`
page.po:1: missing: 'Three things'; run `nox -s messages`, then translate it
page.po:12: stale: not on the page: 'Four things'; run `nox -s messages`
page.po:5: half-width punctuation beside Han: 'One thing'; write ，。；：！？（）“” in full width
page.po:8: fuzzy: 'Two things'; compare it with the English text, then delete the mark `fuzzy`
page.po:15: not translated: 'Five things'; fill its msgstr
page.po:21: obsolete: 'Seven'; run `nox -s messages`, or delete it
page.po:6: typography: '"一件事,"'; write "一件事，"
""".splitlines()
    ]


def test_a_complete_catalogue_has_no_problem(tmp_path):
    catalogue(tmp_path / "pot" / "page.pot", ("One thing", ""), ("``x``", ""))
    catalogue(
        tmp_path / "zh_CN" / "LC_MESSAGES" / "page.po", ("One thing", "一件事"), ("``x``", "")
    )
    assert not list(catalogues.problems(tmp_path / "pot", tmp_path, tmp_path / "theme"))


def test_the_strings_of_the_theme_are_checked_as_well(tmp_path):
    (tmp_path / "pot").mkdir()
    catalogue(tmp_path / "theme" / "zh_CN" / "LC_MESSAGES" / "sphinx.po", ("Next page", ""))
    (found,) = catalogues.problems(tmp_path / "pot", tmp_path, tmp_path / "theme")
    assert "sphinx.po:5: not translated: 'Next page'; fill its msgstr" in found


def test_the_command_fails_where_a_catalogue_is_missing(tmp_path):
    catalogue(tmp_path / "nowhere.pot", ("A sentence that nobody translated.", ""))
    script = ROOT / "docs" / "_ext" / "catalogues.py"
    command = [sys.executable, str(script), "check", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "nowhere.po:1: missing: 'A sentence that nobody translated.'; " in result.stdout


@pytest.mark.parametrize("arguments", [[], ["check"]])
def test_without_templates_the_command_refuses_to_run(tmp_path, arguments):
    with pytest.raises(SystemExit, match=r"expected templates in .*, got none"):
        catalogues.main(*arguments, str(tmp_path))


def test_an_update_keeps_translations_and_drops_what_is_gone(tmp_path):
    catalogue(tmp_path / "pot" / "page.pot", ("One thing", ""))
    folder = tmp_path / "zh_CN" / "LC_MESSAGES"
    catalogue(folder / "page.po", ("One thing", "一件事"), ("Gone", "没了"))
    catalogue(folder / "old.po", ("Gone", "没了"))
    catalogues.update(tmp_path / "pot", tmp_path)
    assert [(e.msgid, e.msgstr) for e in polib.pofile(str(folder / "page.po"))] == [
        ("One thing", "一件事")
    ]
    assert not (folder / "old.po").exists()
