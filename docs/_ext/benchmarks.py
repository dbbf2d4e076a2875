"""Show a committed benchmark: a table of its ratios, with the machine and versions it ran on.

``{benchmark} gram_matrix`` reads ``benchmarks/results/gram_matrix.json``, so a page cannot state
another figure than the one that was measured.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective


class Benchmark(SphinxDirective):
    """Make the table and the line about its origin."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the results and return the nodes."""
        root = Path(self.env.app.confdir).parent
        path = root / "benchmarks" / "results" / f"{self.arguments[0]}.json"
        if not path.is_file():
            raise self.error(f"benchmark: expected {path.name} in benchmarks/results, got none")
        self.env.note_dependency(str(path))
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        heads = [_("Shape"), _("Plain autograd, ms"), _("backpass, ms"), _("Ratio"), _("Quartiles")]
        rows = [
            [
                " × ".join(map(str, row["shape"])),
                f"{row['plain_ms']:.1f}",
                f"{row['ours_ms']:.1f}",
                f"{row['ratio']:.2f}",
                "{:.2f}–{:.2f}".format(*row["ratio_quartiles"]),
            ]
            for row in record["rows"]
        ]
        origin = _(
            "Measured with PyTorch %(torch)s on %(processor)s, %(threads)d threads; "
            "medians of %(pairs)d interleaved pairs."
        ) % {**record, "pairs": record["rows"][0]["pairs"]}
        return [table(heads, rows), nodes.paragraph("", origin, translatable=False)]


def table(heads: list[str], rows: list[list[str]]) -> nodes.table:
    """Return a table of plain texts, which no catalogue has to translate."""
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _head in heads]
    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *map(row, rows))
    return nodes.table("", group)


def row(cells: list[str]) -> nodes.row:
    """Return a row of plain texts."""
    return nodes.row(
        "", *(nodes.entry("", nodes.paragraph("", cell, translatable=False)) for cell in cells)
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("benchmark", Benchmark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
