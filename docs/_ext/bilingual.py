"""Give every page the addresses of its twins, for the language switch and for search engines."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def add_twins(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add ``twins``: per language its tag, name, absolute and relative address, and whether it is this one."""
    site, suffix = app.config.html_context["site"], app.builder.out_suffix  # type: ignore[attr-defined]
    context["twins"] = [
        {
            "tag": language["tag"],
            "label": language["name"],
            "url": f"{site}{language['folder']}/{pagename}{suffix}",
            "href": f"{context['content_root']}../{language['folder']}/{pagename}{suffix}",
            "current": code == app.config.language,
        }
        for code, language in app.config.languages.items()
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the setting that names the languages."""
    app.add_config_value("languages", {}, "html", dict)
    app.connect("html-page-context", add_twins)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
