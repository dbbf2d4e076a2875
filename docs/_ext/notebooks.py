"""Turn the page of an example into a notebook: its prose, its code, and what the code printed and drew.

The source is the resolved page itself. So the notebook is in the page's language, its links lead to
the hosted pages, and its outputs are those of the one execution.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.locale import admonitionlabels
from sphinx_gallery.directives import imgsgnode

SPECIAL = re.compile(r"([\\`*_$<\[\]])")
DISPLAYED = re.compile(r'<div class="output_subarea[^"]*">\n(.*)\n</div>\n<br />\n<br />', re.S)
SILENT = (nodes.comment, nodes.target, nodes.meta, nodes.substitution_definition)
ORDER = ["stream", "execute_result", "display_data"]
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
PYTHON = {
    "name": "python",
    "mimetype": "text/x-python",
    "file_extension": ".py",
    "pygments_lexer": "ipython3",
    "nbconvert_exporter": "python",
    "codemirror_mode": {"name": "ipython", "version": 3},
}


def inline(node: nodes.Node, address: str) -> str:
    """Return the Markdown of text, markup and links; ``address`` is that of the page."""
    if isinstance(node, nodes.Text):
        return SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", node.astext()))
    if isinstance(node, nodes.literal):
        text = re.sub(r"\s+", " ", node.astext())
        fence = "``" if "`" in text else "`"
        return f"{fence}{text}{fence}"
    if isinstance(node, nodes.math):
        return f"${node.astext()}$"
    content = "".join(inline(child, address) for child in node.children)
    if isinstance(node, nodes.reference):
        target = node.get("refuri") or f"#{node['refid']}"
        return f"[{content}]({urljoin(address, target)})"
    if isinstance(node, nodes.image):
        raise ExtensionError(f"notebooks: expected no image inside a text, got {node['uri']}")
    mark = "**" if isinstance(node, nodes.strong) else "*" * isinstance(node, nodes.emphasis)
    return f"{mark}{content}{mark}"


def table(node: nodes.table, address: str) -> str:
    """Return a table whose first row is its head."""
    rows = [
        [
            "<br>".join(blocks(entry, address, 0)).replace("|", r"\|").replace("\n", " ")
            for entry in row.findall(nodes.entry)
        ]
        for row in node.findall(nodes.row)
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def items(node: nodes.Element, address: str, level: int) -> Iterator[str]:
    """Yield the items of a list, each with its mark."""
    for number, item in enumerate(node.children, node.get("start", 1)):
        mark = "- " if isinstance(node, nodes.bullet_list) else f"{number}. "
        yield mark + indent("\n\n".join(blocks(item, address, level)), " " * len(mark)).lstrip()


def blocks(node: nodes.Node, address: str, level: int) -> Iterator[str]:
    """Yield the Markdown of everything in ``node``; ``level`` is the number of sections around it."""
    for child in node.children:
        yield from block(child, address, level)


def block(node: nodes.Node, address: str, level: int) -> Iterator[str]:
    """Yield the Markdown of a node that stands by itself."""
    if isinstance(node, SILENT):
        return
    if isinstance(node, nodes.title):
        yield f"{'#' * level} {inline(node, address)}"
    elif isinstance(node, nodes.paragraph):
        yield inline(node, address)
    elif isinstance(node, nodes.bullet_list | nodes.enumerated_list):
        yield "\n".join(items(node, address, level))
    elif isinstance(node, nodes.math_block):
        tex = node.astext().strip()
        if r"\\" in tex and r"\begin" not in tex:
            tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
        yield f"$$\n{tex}\n$$"
    elif isinstance(node, nodes.literal_block):
        fence = "````" if "```" in node.astext() else "```"
        language = str(node.get("language", "")).replace("none", "")
        yield f"{fence}{language}\n{node.astext()}\n{fence}"
    elif isinstance(node, nodes.table):
        yield table(node, address)
    elif isinstance(node, nodes.Admonition):
        own_title = isinstance(node, nodes.admonition)
        head = [] if own_title else [f"**{admonitionlabels[node.__class__.__name__]}**"]
        text = "\n\n".join([*head, *blocks(node, address, level)])
        yield indent(text, "> ", lambda line: True)
    elif isinstance(node, nodes.container | nodes.section):
        yield from blocks(node, address, level + isinstance(node, nodes.section))
    else:
        raise ExtensionError(
            f"notebooks: expected a text that Markdown can hold, got {node!r:.80}; on {address}"
        )


def outputs(node: nodes.Node, srcdir: Path, count: int) -> Iterator[dict[str, Any]]:
    """Yield what a node of the page shows as the output of its code, if it does."""
    if isinstance(node, nodes.literal_block) and "sphx-glr-script-out" in node["classes"]:
        yield {"output_type": "stream", "name": "stdout", "text": node.astext() + "\n"}
    elif isinstance(node, nodes.raw) and (html := DISPLAYED.search(node.astext())):
        yield {
            "output_type": "execute_result",
            "execution_count": count,
            "data": {"text/html": html[1]},
            "metadata": {},
        }
    elif isinstance(node, imgsgnode | nodes.bullet_list):
        for picture in node.findall(imgsgnode):
            png = b64encode((srcdir / picture["uri"].lstrip("/")).read_bytes()).decode()
            # A reader without pictures is shown the plain text.
            yield {
                "output_type": "display_data",
                "data": {"image/png": png, "text/plain": picture["alt"]},
                "metadata": {},
            }


def opened(node: nodes.Element, level: int = 0) -> Iterator[tuple[nodes.Node, int]]:
    """Yield what stands on the page, in order, with the number of sections around it."""
    for child in node.children:
        if isinstance(child, nodes.section):
            yield from opened(child, level + 1)
        else:
            yield child, level


def is_code(node: nodes.Node) -> bool:
    """Say whether a node is code of the script: sphinx-gallery alone calls the language so."""
    return isinstance(node, nodes.Element) and "Python" in (node.get("lang"), node.get("language"))


def cell(kind: str, source: str, **more: Any) -> dict[str, Any]:
    """Return a cell."""
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def notebook(
    doctree: nodes.document, address: str, srcdir: Path, python: str, install: str | None = None
) -> dict[str, Any]:
    """Return the notebook of a page.

    Args:
        doctree: The page, with its references resolved.
        address: Where the page is hosted.
        srcdir: Where the figures lie.
        python: The version that executed the code.
        install: The code of a first cell that installs what the others import; None for no such cell.
    """
    cells: list[dict[str, Any]] = []
    count = 0
    for node, level in opened(doctree):
        shown = list(outputs(node, srcdir, count))
        if is_code(node):
            count += 1
            source = node.astext().strip("\n")
            cells.append(cell("code", source, execution_count=count, outputs=[]))
        elif shown:
            cells[-1]["outputs"] += shown
        elif text := "\n\n".join(block(node, address, level)):
            if cells and cells[-1]["cell_type"] == "markdown":
                cells[-1]["source"] += f"\n\n{text}"
            else:
                cells.append(cell("markdown", text))
    if install is not None:
        first = [c["cell_type"] for c in cells].index("code")
        cells.insert(first, cell("code", install, execution_count=None, outputs=[]))
        cells[first]["metadata"] = {"tags": ["install"]}
    for number, one in enumerate(cells):
        one["id"] = f"cell-{number}"
        # Jupyter shows figures when the cell has ended, after all that it printed.
        one.get("outputs", []).sort(key=lambda output: ORDER.index(output["output_type"]))
    language = {**PYTHON, "version": python}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": KERNEL, "language_info": language},
        "cells": cells,
    }
