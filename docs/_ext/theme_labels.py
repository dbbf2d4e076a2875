"""Make the labels that furo writes in plain English translatable, and name its landmarks.

The skip link moves before the checkboxes of the menus, so that the Tab key meets it first.

The replacements are made in the theme's template before Jinja compiles it, so the strings go
through the same catalogue (``theme_locales``) as all others. A label that furo no longer has fails
the build. Remove this once furo#434 is released.
"""

import re
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
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="{{ _("Site navigation") }}"',
    '<aside class="toc-drawer': '<aside aria-label="{{ _("On this page") }}" class="toc-drawer',
    "@pradyunsg</a>'s": """@pradyunsg</a>{{ _("'s") }}""",
}
MENUS = '<input type="checkbox" class="sidebar-toggle" name="__navigation"'
SKIP_LINK = re.compile(r'<a class="skip-to-content.*?</a>\n*', re.S)
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
            link = SKIP_LINK.search(source)
            if link is None or MENUS not in source:
                raise ExtensionError("theme_labels: expected a skip link and menus, got none")
            source = SKIP_LINK.sub("", source).replace(MENUS, link[0] + MENUS)
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
