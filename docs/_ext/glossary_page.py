"""Make the glossary page from ``glossary.toml``, the one list that the check of the catalogues reads.

``{terms}`` shows each term that has a meaning, in alphabetical order.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from catalogue_rules import GLOSSARY, glossary


class Terms(SphinxDirective):
    """Write the terms as a ``glossary``, so that pages can refer to them."""

    def run(self) -> list[nodes.Node]:
        """Parse the glossary where the directive stands."""
        self.env.note_dependency(str(GLOSSARY))
        terms = sorted((t for t in glossary() if t.means), key=lambda term: term.en.casefold())
        rows = "\n".join(f"{term.en}\n  {term.means}\n" for term in terms)
        return self.parse_text_to_nodes(f"```{{glossary}}\n{rows}```\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("terms", Terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
