"""Show how complete each translation is: a table made of the catalogues at every build.

What a page says is collected while it is read, before Sphinx translates it; so the figures are
right even where nobody has run ``nox -s messages`` since the page changed.
"""

from pathlib import Path
from typing import Any, NamedTuple

import polib
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import extract_messages

from benchmarks import row
from catalogue_rules import needs_translation


class status_tables(nodes.General, nodes.Element):  # noqa: N801  (as docutils names nodes)
    """The place of the tables, which are made when all pages are read."""


class TranslationStatus(SphinxDirective):
    """Mark the place."""

    def run(self) -> list[nodes.Node]:
        """Return the mark, and note the page: it is written again when a catalogue changes."""
        self.env.metadata[self.env.docname]["status"] = True
        return [status_tables()]


class CollectMessages(SphinxTransform):
    """Keep what a page says in the source language."""

    default_priority = 15  # before the transform Locale, at 20

    def apply(self, **kwargs: Any) -> None:
        """Note the messages of the page."""
        messages = {message for _node, message in extract_messages(self.document)}
        self.env.metadata[self.env.docname]["messages"] = messages


class Count(NamedTuple):
    """The messages of one catalogue: how many there are and are done, and which are to do."""

    total: int
    done: int
    missing: tuple[str, ...]
    stale: tuple[str, ...]


def count(path: Path, read: set[str] | None = None) -> Count:
    """Compare a catalogue with what was read of its page; without a page, with itself."""
    catalogue = polib.pofile(str(path)) if path.is_file() else polib.POFile()
    entries = [e for e in catalogue if not e.obsolete and needs_translation(e.msgid)]
    # Napoleon has already translated the titles of its sections.
    said = {e.msgid for e in entries if read is None or _(e.msgid) in read}
    said |= {message for message in read or () if needs_translation(message)}
    stale = {entry.msgid for entry in entries if entry.fuzzy or entry.msgid not in said}
    done = {entry.msgid for entry in entries if entry.msgstr} - stale
    return Count(len(said), len(done), tuple(sorted(said - done - stale)), tuple(sorted(stale)))


def counts(env: BuildEnvironment) -> dict[str, dict[str, Count]]:
    """Return, for each language but the source, the counts of its catalogues by page."""
    found: dict[str, dict[str, Count]] = {}
    _source, *languages = env.config.languages
    for language in languages:
        place = f"{language}/LC_MESSAGES"
        found[language] = {
            name: count(Path(env.srcdir, "locales", place, f"{name}.po"), read)
            for name in sorted(env.found_docs)
            if (read := env.metadata[name].get("messages"))
        }
        found[language][""] = count(Path(env.srcdir, "theme_locales", place, "sphinx.po"))
    return found


def refresh(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the page again when a catalogue or a page has changed."""
    old, new = getattr(env, "translation_counts", None), counts(env)
    env.translation_counts = new  # type: ignore[attr-defined]
    return [] if old == new else [name for name in env.found_docs if "status" in env.metadata[name]]


def show(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the tables in their place."""
    for node in list(doctree.findall(status_tables)):
        found: list[nodes.Node] = []
        for language, catalogues in app.env.translation_counts.items():  # type: ignore[attr-defined]
            found += tables(app, docname, app.config.languages[language]["name"], catalogues)
        node.replace_self(found)


def tables(app: Sphinx, docname: str, label: str, catalogues: dict[str, Count]) -> list[nodes.Node]:
    """Return the table of one language, and the list of what is to do."""
    total = sum(one.total for one in catalogues.values())
    done = sum(one.done for one in catalogues.values())
    stale = sum(len(one.stale) for one in catalogues.values())
    group = nodes.tgroup(cols=4)
    group += [nodes.colspec(colwidth=width) for width in (4, 1, 1, 1)]
    group += nodes.thead("", row([_("Page"), _("Messages"), _("Not translated"), _("Stale")]))
    body = nodes.tbody()
    todo = nodes.bullet_list()
    for name, one in catalogues.items():
        title = app.env.titles[name].astext() if name else _("Labels around the pages")
        link: nodes.Node = nodes.Text(title)
        if name:
            address = app.builder.get_relative_uri(docname, name)
            link = nodes.reference("", title, internal=True, refuri=address)
        figures = row([str(one.total), str(len(one.missing)), str(len(one.stale))])
        body += nodes.row("", nodes.entry("", nodes.paragraph("", "", link)), *figures.children)
        for message in one.missing + one.stale:
            short = " ".join(message.split())[:80]
            todo += nodes.list_item(
                "", nodes.paragraph("", "", nodes.Text(f"{title} "), nodes.literal("", short))
            )
    group += body
    summary = _("%(label)s: %(done)d of %(total)d messages are translated, %(stale)d are stale.")
    text = summary % {"label": label, "done": done, "total": total, "stale": stale}
    result: list[nodes.Node] = [
        nodes.paragraph("", text, translatable=False),
        nodes.table("", group),
    ]
    return [*result, todo] if len(todo) else result


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the moments at which it works."""
    app.add_node(status_tables)
    app.add_directive("translation-status", TranslationStatus)
    app.add_transform(CollectMessages)
    app.connect("env-updated", refresh)
    app.connect("doctree-resolved", show)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
