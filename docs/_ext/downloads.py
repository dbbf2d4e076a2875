"""Lay the script and the notebook of each example beside its page, in the language of the page.

The prose of a script is translated with the catalogue of its page; its code is copied byte for
byte. A text without a translation fails the build, so that no download mixes two languages.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import polib
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from catalogue_rules import needs_translation
from gallery_pages import is_example
from notebooks import notebook
from repository_links import installation
from sources import SOURCE

MARKER = re.compile(r"\s*(?:[*-] |#\. |\d+\. |\.\. (?:note|warning|tip|seealso):: )*")
RAW = re.compile(r"\s*\.\. (?:math|code-block|recorded|_)")
UNDERLINE = re.compile(r"([=\-~^\"])\1{2,}$")


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


def localise(path: Path, messages: dict[str, str], missing: Callable[[str], None]) -> str:
    """Return a script with translated prose."""
    source = path.read_text("utf-8")
    parts: list[str] = []
    position = 0
    for block in split_code_and_text_blocks(path)[1]:
        if block.type == "code":
            end = source.index(block.content, position) + len(block.content)
            parts.append(source[position:end])
        else:
            text = translate(block.content, messages, missing)
            if parts:
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
        position = end
    return "".join(parts) + source[position:]


def write_notebook(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Write the notebook of an example together with its page."""
    if doctree is None or not is_example(pagename):
        return
    address = f"{app.config.html_baseurl}{pagename}.html"
    code = Path(app.srcdir, f"{pagename}.py").read_text("utf-8")
    execution = context["execution"]
    install = installation(app.config.html_context["repository"], execution["commit"], code)
    result = notebook(doctree, address, Path(app.srcdir), execution["python"], install)
    target = Path(app.outdir, f"{pagename}.ipynb")
    target.parent.mkdir(parents=True, exist_ok=True)
    checked = nbformat.from_dict(result)  # type: ignore[no-untyped-call]
    nbformat.validate(checked)
    target.write_text(nbformat.writes(checked) + "\n", "utf-8")  # type: ignore[no-untyped-call]


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    """Write the script of every example beside its page."""
    if exception is not None or app.builder.format != "html":
        return
    untranslated: list[str] = []
    for docname in sorted(filter(is_example, app.env.found_docs)):
        missing: list[str] = []
        source = localise(
            Path(app.srcdir, f"{docname}.py"), catalogue(app, docname), missing.append
        )
        Path(app.outdir, f"{docname}.py").write_text(source, "utf-8")
        if app.config.language != SOURCE:
            untranslated += [f"{docname}: {message[:70]!r}" for message in missing]
    if untranslated:
        raise ExtensionError("downloads: no translation of\n" + "\n".join(untranslated))


def setup(app: Sphinx) -> dict[str, bool]:
    """Wait for the pages; ``page.html`` links what is laid beside them."""
    app.connect("html-page-context", write_notebook, priority=600)  # after "execution"
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
