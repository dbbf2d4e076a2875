"""Render mathematics as MathML while the site is built: no script, no font, no network."""

from typing import Any, Literal

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator


def mathml(tex: str, display: Literal["inline", "block"] = "inline") -> str:
    """Convert TeX; browsers know no ``mathvariant`` any more, so the letter is written itself."""
    markup = convert(tex, display=display)
    return markup.replace('<mn mathvariant="double-struck">1</mn>', "<mn>𝟙</mn>")


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write inline mathematics."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write display mathematics, which scrolls by itself on a narrow screen."""
    tex = node.astext().strip()
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    # What scrolls must be reachable with the keyboard, and then needs a name. It is a group, since
    # a region would be a landmark, of which each needs a name of its own.
    label = _("Formula")
    attributes: dict[str, Any] = {"role": "group", "tabindex": "0", "aria-label": label}
    self.body.append(self.starttag(node, "div", CLASS="math-block", **attributes))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append(mathml(tex, display="block") + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer as ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
