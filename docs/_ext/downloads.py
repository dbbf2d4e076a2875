"""Lay the script and the notebook of each example beside its page, in the language of the page.

The prose of a script is translated with the catalogue of its page; its code is copied byte for
byte. A text without a translation fails the build, so that no download mixes two languages.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import polib
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_gallery.notebook import jupyter_notebook, save_notebook
from sphinx_gallery.py_source_parser import Block, split_code_and_text_blocks

from catalogue_rules import needs_translation
from gallery_pages import is_example
from sources import SOURCE

MARKER = re.compile(r"\s*(?:[*-] |#\. |\d+\. |\.\. (?:note|warning|tip|seealso):: )*")
RAW = re.compile(r"\s*\.\. (?:math|code-block|recorded|_)")
UNDERLINE = re.compile(r"([=\-~^\"])\1{2,}$")
ROLE = re.compile(r":(?:\w+:)*(?P<name>\w+):`~?(?P<text>[^`<]+?)(?:\s*<[^>`]+>)?`")


def catalogue(app: Sphinx, docname: str) -> dict[str, str]:
    """Return the translations of a page; none where the page is in the source language."""
    path = Path(app.srcdir, "locales", app.config.language, "LC_MESSAGES", f"{docname}.po")
    if not path.is_file():
        return {}
    return {" ".join(e.msgid.split()): e.msgstr for e in polib.pofile(str(path)) if e.msgstr}


def units(text: str) -> Iterator[list[str]]:
    """Cut reST into what Sphinx makes messages of: paragraphs, titles and items; and raw blocks."""
    unit: list[str] = []
    raw: int | None = None  # the indentation of what a raw block belongs to
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if raw is not None and (not line.strip() or indent > raw):
            unit.append(line)
            continue
        # Inside a paragraph, "3. " at the start of a line is no item.
        item = marked(line) and (not unit or marked(unit[0]))
        if raw is not None or not line.strip() or item or RAW.match(line):
            literal = bool(unit) and unit[-1].endswith("::")
            if unit:
                yield unit
            unit, raw = [], indent if RAW.match(line) else None
            if literal and not line.strip():
                raw = 0
        unit.append(line)
        if UNDERLINE.match(line) or (not line.strip() and raw is None):
            yield unit
            unit = []
    if unit:
        yield unit


def marked(line: str) -> bool:
    """Say whether a line begins an item of a list or a directive with text."""
    marker = MARKER.match(line)
    return marker is not None and marker[0].strip() != ""


def translate(text: str, messages: dict[str, str], missing: Callable[[str], None]) -> str:
    """Translate a text cell; report each message that has no translation."""
    lines: list[str] = []
    for unit in units(text):
        if RAW.match(unit[0]) or not unit[0].strip():
            lines += unit
            continue
        underline = UNDERLINE.match(unit[-1]) if len(unit) > 1 else None
        body = unit[:-1] if underline else unit
        # A title may begin with a number, which marks no item there.
        marker = "" if underline else MARKER.match(body[0])[0]  # type: ignore[index]
        message = " ".join(" ".join(body)[len(marker) :].split())
        if message in messages:
            lines.append(marker + messages[message])
            if underline:
                lines.append(underline[1] * max(4, width(messages[message])))
        else:
            if needs_translation(message) and not message.startswith(".. "):
                missing(message)
            lines += unit
    return "\n".join(lines)


def width(text: str) -> int:
    """Return the columns that a text takes, of which a Han character takes two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def localise(
    path: Path, messages: dict[str, str], missing: Callable[[str], None]
) -> tuple[str, list[Block]]:
    """Return a script with translated prose, and its blocks for the notebook."""
    source = path.read_text("utf-8")
    blocks: list[Block] = []
    parts: list[str] = []
    position = 0
    for block in split_code_and_text_blocks(path)[1]:
        if block.type == "code":
            end = source.index(block.content, position) + len(block.content)
            parts.append(source[position:end])
        else:
            text = translate(block.content, messages, missing)
            if blocks:
                head = re.compile(r"^# ?%%.*\n", re.M).search(source, position)
                assert head is not None
                prose = re.compile(r"(?:^#.*\n?)*", re.M).match(source, head.end())
                assert prose is not None
                end = prose.end()
                comment = "".join(
                    f"# {line}".rstrip() + "\n" for line in text.strip("\n").split("\n")
                )
                parts += [source[position : head.end()], comment]
            else:
                head = re.compile(r'r?"""').search(source, position)
                assert head is not None
                end = source.index('"""', head.end()) + 3
                parts += [source[position : head.end()], "\n", text.strip("\n"), '\n"""']
            block = block._replace(content=text)  # noqa: PLW2901
        position = end
        blocks.append(block)
    return "".join(parts) + source[position:], blocks


def readable(block: Block) -> Block:
    """Turn roles, which a notebook cannot resolve, into plain Markdown."""
    if block.type == "code":
        return block

    def plain(match: re.Match[str]) -> str:
        return match[0] if match["name"] == "math" else f"``{match['text']}``"

    return block._replace(content=ROLE.sub(plain, block.content))


def write_downloads(app: Sphinx, exception: Exception | None) -> None:
    """Write the script and the notebook of every example beside its page."""
    if exception is not None or app.builder.format != "html":
        return
    untranslated: list[str] = []
    for docname in sorted(filter(is_example, app.env.found_docs)):
        messages = catalogue(app, docname)
        missing: list[str] = []
        script = Path(app.srcdir, f"{docname}.py")
        source, blocks = localise(script, messages, missing.append)
        if app.config.language != SOURCE:
            untranslated += [f"{docname}: {message[:70]!r}" for message in missing]
        target = Path(app.outdir, docname)
        target.with_suffix(".py").write_text(source, "utf-8")
        notebook = jupyter_notebook(
            [readable(b) for b in blocks], app.config.sphinx_gallery_conf, script.parent
        )
        save_notebook(notebook, target.with_suffix(".ipynb"))
    if untranslated:
        raise ExtensionError("downloads: no translation of\n" + "\n".join(untranslated))


def setup(app: Sphinx) -> dict[str, bool]:
    """Wait for the pages; ``page.html`` links what is laid beside them."""
    app.connect("build-finished", write_downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
