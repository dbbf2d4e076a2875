"""What a translation must keep, and how Chinese is set: the rules of ``nox -s messages -- check``.

Each rule says what is wrong and what to do. The linters in the command and in ``lint`` find more;
here stands what they miss, because they see the translation without its source.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

GLOSSARY = Path(__file__).parents[1] / "glossary.toml"

LITERAL = r"``[^`]+``|(?<!`)`[^`]+`(?![`_])"
ROLE = r"(?<![A-Za-z]):[\w:-]+:`[^`]+`|(?<![A-Za-z])\{[\w:-]+\}`[^`]+`"
MATHS = r"(?<!\$)\$[^$]+\$(?!\$)"
TARGET = re.compile(r"<([^<>`]+)>`$|`([^`<]+)`$")  # of a role, with or without a text of its own
PARTS = {
    "literals": re.compile(LITERAL),
    "roles": re.compile(ROLE),
    "links": re.compile(r"https?://[^\s)>`]+|\]\([^)]+\)"),
    "mathematics": re.compile(MATHS),
    "placeholders": re.compile(r"%\(\w+\)[sd]|%[sd]\b|(?<![|`\w])\|\w+\|(?![|`\w])"),
}
# What is no prose: markup, addresses, and the titles of papers, which stand in italics.
NO_PROSE = re.compile(rf"{ROLE}|{LITERAL}|{MATHS}|\]\([^)]*\)|https?://\S+|(?<!\*)\*[^*]+\*(?!\*)")
TEX = re.compile(r"\\[A-Za-z]+|\\\\")
MARKUP = re.compile(rf"{ROLE}|``[^`]*``|`[^`]*`|\$\$?[^$]*\$?\$|https?://\S+|!?\[\]\([^)]*\)")

HAN = r"[\u3400-\u9fff]"
SPACE = "put one space between them"
FULL_WIDTH = "write ，。；：！？（）“” in full width"
# The pattern, what to do, and where it is looked for: prose without code and formulas, or with a
# stand-in for each role.
TYPOGRAPHY = {
    "half-width punctuation beside Han": (rf"{HAN}[,;:!?](?!\S*`)|[,;!?]{HAN}|{HAN}\.(?:\s|$)", FULL_WIDTH, "bare"),
    "half-width parenthesis around Han": (rf"\({HAN}|{HAN}\)(?!`)", FULL_WIDTH, "bare"),
    "straight quote beside Han": (rf"{HAN}\"|\"{HAN}", FULL_WIDTH, "bare"),
    "dash of hyphens": (rf"{HAN} ?-- ?|-- ?{HAN}", "write —— or another sentence", "bare"),
    "doubled punctuation": (r"。。|，，|、、|：：|；；", "keep one mark", "bare"),
    "您": ("您", "write 你, or leave the person out", "bare"),
    "no space between Han and Latin": (rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}", SPACE, "bare"),
    "no space between Han and markup": (rf"{HAN}(?:`|:\w+:`|\$)|(?:`|\$){HAN}", SPACE, "marked"),
    "punctuation inside bold": (rf"\*\*[^*]+[：，。]\*\*{HAN}", "put the mark behind the asterisks", "marked"),
    "an initial that reads as the number of a list": (r"^[A-Z]\. ", r"begin with \ ", "bare"),
    "space before punctuation": (r" [，。；：！？、]", "take the space out", "bare"),
}  # fmt: skip


class Fault(NamedTuple):
    """What is wrong with a translation, and what to do."""

    rule: str
    advice: str


def needs_translation(message: str) -> bool:
    """Say whether a message has words of its own: formulas, literals, roles and links have none."""
    words = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
    if TEX.search(message) and not MARKUP.search(message):
        return bool(words.search(TEX.sub("", message)))
    return bool(re.search(r"[A-Za-z]{2,}", MARKUP.sub("", message)))


def parts(kind: str, text: str) -> Counter[str]:
    """Count the markup of one kind; of a role its name and target, since its text is translated."""
    if kind in ("literals", "placeholders"):
        text = PARTS["roles"].sub("", text)
    if kind == "placeholders":
        text = re.sub(rf"{LITERAL}|{MATHS}", "", text)
    found = (match[0] for match in PARTS[kind].finditer(text))
    if kind == "roles":
        return Counter(f"{role.partition('`')[0]} {_target(role)}" for role in found)
    return Counter(found)


def _target(role: str) -> str:
    match = TARGET.search(role)
    return (match[1] or match[2]) if match else role


def faults(source: str, text: str, language: str = "zh_CN") -> Iterator[Fault]:
    """Yield what is wrong with the translation ``text`` of ``source``."""
    for kind in PARTS:
        expected, found = parts(kind, source), parts(kind, text)
        if expected != found:
            lost, new = sorted((expected - found).elements()), sorted((found - expected).elements())
            advice = "; ".join([*(f"put {x} in" for x in lost), *(f"take {x} out" for x in new)])
            yield Fault(f"{kind} differ", advice)
    bare = re.sub(r"``[^`]*``|`[^`]*`|\$[^$]*\$", "`", text)
    if language.startswith("zh"):
        checked = {"bare": bare, "marked": PARTS["roles"].sub(":r:`x`", text)}
        for rule, (pattern, advice, where) in TYPOGRAPHY.items():
            if re.search(pattern, checked[where]):
                yield Fault(rule, advice)
        yield from breaches(source, text)


def breaches(source: str, text: str) -> Iterator[Fault]:
    """Yield where a Chinese translation leaves the glossary."""
    english, chinese = NO_PROSE.sub("`", source), NO_PROSE.sub("`", text)
    for term in glossary():
        wrong = [word for word in term.avoid if word in chinese]
        if wrong:
            yield Fault(f"glossary: {wrong[0]!r} for {term.en!r}", f"write {term.zh}")
        elif term.pattern.search(english) and not any(form in text for form in term.accepted):
            yield Fault(f"glossary: no translation of {term.en!r}", f"write {term.zh}")


class Term(NamedTuple):
    """A row of the glossary."""

    en: str
    zh: str
    accepted: frozenset[str]
    avoid: tuple[str, ...]
    pattern: re.Pattern[str]
    means: str


@cache
def glossary(path: Path = GLOSSARY) -> tuple[Term, ...]:
    """Read the list of terms; of ``余切向量（cotangent）`` each half stands for the term, too."""
    rows = tomllib.loads(path.read_text("utf-8"))["term"]
    return tuple(
        Term(
            en=row["en"],
            zh=row["zh"],
            accepted=frozenset({row["zh"], *re.split("[（）]", row["zh"]), *row.get("also", [])} - {""}),
            avoid=tuple(w for w in row.get("avoid", []) if re.search(HAN, w) and w not in row["zh"]),
            pattern=_word(row["en"]),
            means=row.get("means", ""),
        )
        for row in rows
    )  # fmt: skip


def _word(term: str) -> re.Pattern[str]:
    """Match a term as a word of its own: in the plural, inflected, or over a line break."""
    words = r"[\s-]+".join(map(re.escape, term.split()))
    return re.compile(rf"(?<![\w.-]){words}(?:e?[sd])?(?![\w-])", re.I)
