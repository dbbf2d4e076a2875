"""Make the labels that furo writes in plain English translatable, and name its landmarks.

The icons that open the menus become buttons, which the keyboard reaches and backpass.js serves.

The replacements are made in the theme's template before Jinja compiles it, so the strings go
through the same catalogue (``theme_locales``) as all others. A label that furo no longer has fails
the build. Remove this once furo#434 is released.
"""

from typing import Any

from docutils import nodes
from jinja2 import Environment
from jinja2.ext import Extension
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.locale import _

LABELS = {
    'aria-label="Toggle site navigation sidebar"': 'aria-label="{{ _("Toggle site navigation sidebar") }}"',
    'aria-label="Toggle table of contents sidebar"': 'aria-label="{{ _("Toggle table of contents sidebar") }}"',
    'aria-label="Toggle Light / Dark / Auto color theme"': 'aria-label="{{ _("Toggle light, dark or automatic theme") }}"',
    '<span class="icon"><svg><use href="#svg-menu">': '<span class="icon" role="button" tabindex="0" aria-expanded="false" aria-label="{{ _("Toggle site navigation sidebar") }}"><svg><use href="#svg-menu">',
    '<span class="icon"><svg><use href="#svg-toc">': '<span class="icon" role="button" tabindex="0" aria-expanded="false" aria-label="{{ _("Toggle table of contents sidebar") }}"><svg><use href="#svg-toc">',
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="{{ _("Site navigation") }}"',
    '<aside class="toc-drawer': '<aside aria-label="{{ _("On this page") }}" class="toc-drawer',
    "@pradyunsg</a>'s": """@pradyunsg</a>{{ _("'s") }}""",
}
NAVIGATION = "Toggle navigation of "


class TranslatableLabels(Extension):
    """Replace labels in the source of furo's page template."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the template's source with its labels wrapped in ``_()``."""
        if name == "!page.html":
            for old, new in LABELS.items():
                if old not in source:
                    raise ExtensionError(f"theme_labels: expected {old!r} in furo's page, got none")
                source = source.replace(old, new)
        return source


def add_extension(app: Sphinx) -> None:
    """Add the extension to the environment that renders the pages."""
    templates: Any = getattr(app.builder, "templates", None)
    if templates is not None and isinstance(templates.environment, Environment):
        templates.environment.add_extension(TranslatableLabels)


def translate_navigation(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Translate the label of each part of the navigation that folds; furo writes it in Python."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(NAVIGATION, _(NAVIGATION))


def setup(app: Sphinx) -> dict[str, bool]:
    """Wait for the builder, which owns the environment, and for furo, which fills the context."""
    app.connect("builder-inited", add_extension)
    app.connect("html-page-context", translate_navigation, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
