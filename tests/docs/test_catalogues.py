"""The Chinese catalogues: what the linters do not see, by comparing each message with its source."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import autocorrect_py
import polib
import pytest

import catalogues

ROOT = Path(__file__).parents[2]

HAN = r"[\u3400-\u9fff]"
PARTS = {
    "literals": re.compile(r"``[^`]+``|(?<!`)`[^`]+`(?![`_])"),
    "roles": re.compile(
        r":[\w:]+:`(?:[^`<]*<([^>`]+)>|([^`]+))`|(?<![A-Za-z])\{[\w:]+\}`(?:[^`<]*<([^>`]+)>|([^`]+))`"
    ),
    "links": re.compile(r"https?://[^\s)>`]+|\]\(([^)]+)\)"),
    "mathematics": re.compile(r"(?<!\$)\$[^$]+\$(?!\$)"),
}
TYPOGRAPHY = {
    "half-width punctuation beside Han": re.compile(rf"{HAN}[,;:!?](?!\S*`)|[,;!?]{HAN}|{HAN}\.(?:\s|$)"),
    "half-width parenthesis around Han": re.compile(rf"\({HAN}|{HAN}\)(?!`)"),
    "straight quote beside Han": re.compile(rf"{HAN}\"|\"{HAN}"),
    "dash of hyphens": re.compile(rf"{HAN} ?-- ?|-- ?{HAN}"),
    "doubled punctuation": re.compile(r"。。|，，|、、|：：|；；"),
    "您": re.compile("您"),
    "no space between Han and Latin": re.compile(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}"),
    "no space between Han and markup": re.compile(rf"{HAN}(?:`|:\w+:`|\$)|(?:`|\$){HAN}"),
    "punctuation inside bold": re.compile(rf"\*\*[^*]+[：，。]\*\*{HAN}"),
    "an initial that reads as the number of a list": re.compile(r"^[A-Z]\. "),
    "space before punctuation": re.compile(r" [，。；：！？、]"),
}  # fmt: skip
FILES = sorted((ROOT / "docs").glob("*locales/zh_CN/LC_MESSAGES/**/*.po"))
TERMS = tomllib.loads((ROOT / "docs" / "glossary.toml").read_text("utf-8"))["term"]


def parts(kind, text):
    """The markup of one kind, with the target of what has a display text of its own."""
    found = Counter()
    if kind == "literals":
        text = PARTS["roles"].sub("", text)
    for match in PARTS[kind].finditer(text):
        found[next((group for group in match.groups() if group), match[0])] += 1
    return found


def faults(entry):
    source, text = entry.msgid, entry.msgstr
    if not text:
        return []
    found = [f"{kind} differ" for kind in PARTS if parts(kind, source) != parts(kind, text)]
    bare = re.sub(r"``[^`]*``|`[^`]*`|\$[^$]*\$", "`", text)
    marked = PARTS["roles"].sub(":r:`x`", text)
    for kind, pattern in TYPOGRAPHY.items():
        checked = marked if "markup" in kind or "bold" in kind else bare
        if pattern.search(checked):
            found.append(kind)
    for term in TERMS:
        found += [
            f"{wrong!r} where the glossary has {term['zh']!r} for {term['en']!r}"
            for wrong in term.get("avoid", [])
            if re.search(HAN, wrong) and wrong in bare and wrong not in term["zh"]
        ]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT / "docs").as_posix())
def test_autocorrect_finds_nothing(path):
    result = autocorrect_py.lint_for(path.read_text("utf-8"), "po")
    assert not result.lines, f"{path.name}: {result.lines}"


def test_autocorrect_finds_nothing_in_the_chinese_readme():
    result = autocorrect_py.lint_for((ROOT / "README.zh-CN.md").read_text("utf-8"), "markdown")
    assert not result.lines


def test_autocorrect_catches_a_planted_fault():
    assert autocorrect_py.lint_for('msgid "x"\nmsgstr "调用abc方法,好"\n', "po").lines


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT / "docs").as_posix())
def test_messages_keep_their_markup_and_follow_the_rules(path):
    found = [f"{e.msgid[:60]!r}: {fault}" for e in polib.pofile(str(path)) for fault in faults(e)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "text", "fault"),
    [
        ("Call ``apply``.", "调用 ``apply()``。", "literals differ"),
        ("See :func:`a.b`.", "参见 ``a.b``。", "roles differ"),
        ("A gradient.", "梯度,", "half-width punctuation beside Han"),
        ("A gradient (of x).", "梯度(对 x)。", "half-width parenthesis around Han"),
        ("The gradient of x", "x的梯度", "no space between Han and Latin"),
        ("Call ``apply`` now.", "现在调用``apply``。", "no space between Han and markup"),
        ("You can.", "您可以。", "您"),
        ("A gradient.", "梯度。。", "doubled punctuation"),
        (
            "L. A. Gatys, a paper",
            "L. A. Gatys，一篇论文",
            "an initial that reads as the number of a list",
        ),
        ("**Not so.** A gradient.", "**不对。**梯度。", "punctuation inside bold"),
        ("See {ref}`x`.", "参见{ref}`x`。", "no space between Han and markup"),
    ],
)
def test_a_planted_fault_is_caught(source, text, fault):
    assert fault in faults(polib.POEntry(msgid=source, msgstr=text))


def test_a_term_to_avoid_is_caught():
    term = next(t for t in TERMS if any(re.search(HAN, w) for w in t.get("avoid", [])))
    wrong = next(w for w in term["avoid"] if re.search(HAN, w) and w not in term["zh"])
    assert any(wrong in f for f in faults(polib.POEntry(msgid="x", msgstr=f"这里有{wrong}。")))


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
    assert catalogues.needs_translation(message) is needed


def catalogue(path, *entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=utf-8"}
    file.extend([polib.POEntry(msgid=m, msgstr=s, flags=list(f)) for m, s, *f in entries])
    file.save(str(path))


def test_missing_fuzzy_and_stale_messages_are_problems(tmp_path):
    catalogue(
        tmp_path / "pot" / "page.pot", ("One thing", ""), ("Two things", ""), ("Three things", "")
    )
    catalogue(
        tmp_path / "zh_CN" / "LC_MESSAGES" / "page.po",
        ("One thing", "一件事"), ("Two things", "两件事", "fuzzy"), ("Four things", "四件事"),
    )  # fmt: skip
    found = list(catalogues.problems(tmp_path / "pot", tmp_path))
    assert [re.sub(r"^\S+ ", "", f) for f in found] == [
        "no longer on the page: 'Four things'",
        "not translated: 'Three things'",
        "fuzzy: 'Two things'",
    ]
    catalogue(
        tmp_path / "zh_CN" / "LC_MESSAGES" / "page.po",
        ("One thing", "一件事"), ("Two things", "两件事"), ("Three things", "三件事"),
    )  # fmt: skip
    assert not list(catalogues.problems(tmp_path / "pot", tmp_path))


def test_the_command_fails_where_a_catalogue_is_missing(tmp_path):
    catalogue(tmp_path / "nowhere.pot", ("A sentence that nobody translated.", ""))
    command = [
        sys.executable,
        str(ROOT / "docs" / "_ext" / "catalogues.py"),
        "check",
        str(tmp_path),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "nowhere.po: not translated: 'A sentence that nobody translated.'" in result.stdout


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
