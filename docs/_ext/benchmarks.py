"""Show a committed benchmark: a table of its ratios, with the machine and versions it ran on.

``{benchmark} gram_matrix`` reads ``benchmarks/results/gram_matrix.json``, so a page cannot state
another figure than the one that was measured. Names that the results hold are translated by the
catalogue of the theme; what stands between backquotes is code.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

Record: TypeAlias = dict[str, Any]
Cell: TypeAlias = str | Sequence[nodes.Node]


class Benchmark(SphinxDirective):
    """Make the table and the line about its origin."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the results and return the nodes."""
        root = Path(self.env.app.confdir).parent
        name = self.arguments[0]
        path = root / "benchmarks" / "results" / f"{name}.json"
        if not path.is_file():
            raise self.error(f"benchmark: expected {path.name} in benchmarks/results, got none")
        self.env.note_dependency(str(path))
        try:
            return shown(json.loads(path.read_text("utf-8")))
        except KeyError as missing:
            raise self.error(
                f"benchmark: expected the field {missing} in {path.name}, got none; "
                f"run `nox -s bench -- {name}`"
            ) from None


def shown(record: Record) -> list[nodes.Node]:
    """Return the table, its origin, and what could not be measured."""
    rows: list[Record] = record["rows"]
    anchors = dict.fromkeys(row["anchor"] for row in rows if "anchor" in row)
    extra = dict.fromkeys(name for row in rows for name in row.get("columns", {}))
    # One anchor is the head of its column; of several, each row names its own.
    several = len(anchors) > 1
    head = [_("Compared with"), _("Its time")] if several else [title(_(name)) for name in anchors]
    heads = [_(record["label"]), *head, _(record["ours"]), _("Ratio (quartiles)"), *map(_, extra)]
    limit = max([1.0, *(max(spread(row)) for row in rows if "anchor" in row)])
    body: list[list[Cell]] = []
    for row in rows:
        compared = "anchor" in row
        cells: list[Cell] = [row["label"].replace(" × ", "\u00a0×\u00a0")]
        cells += [_(row["anchor"]) if compared else "–"] if several else []
        cells += [time(row["anchor_ms"]) if compared else "–"] if anchors else []
        cells += [time(row["ours_ms"]), ratio(row, limit) if compared else "–"]
        cells += [figures(row["columns"][name]) for name in extra]
        body.append(cells)
    lines = [origin(record)]
    lines += [
        _("Not measured: %(anchor)s; `%(reason)s`") % {"anchor": anchor, "reason": reason}
        for anchor, reason in record.get("not_measured", {}).items()
    ]
    return [table(heads, body), *map(paragraph, lines)]


def origin(record: Record) -> str:
    """Say where and how the figures were measured, and whether both sides agree."""
    said = [
        _(
            "Measured on %(date)s with backpass %(backpass)s, PyTorch %(torch)s and Python "
            "%(python)s on %(processor)s, threads: %(threads)d."
        )
        % record,
        _("One run for each figure.")
        if record["rounds"] == 1
        else _("Medians of %(rounds)d interleaved rounds.") % record,
    ]
    apart = [row["relative_difference"] for row in record["rows"] if "relative_difference" in row]
    if apart:
        said.append(_("The results differ by at most %(apart)s.") % {"apart": f"{max(apart):.1g}"})
    return " ".join(said).replace("。 ", "。")  # Chinese sentences stand without a space


def time(milliseconds: float) -> str:
    """Write a time with its unit, which every language shares, on one line."""
    if milliseconds < 999:
        return f"{milliseconds:.3g}\u00a0ms"
    return f"{milliseconds / 1000:.1f}\u00a0s"


def figures(values: float | list[float]) -> str:
    """Write a figure, or that of the anchor and ours."""
    pair = values if isinstance(values, list) else [values]
    return "\u00a0→ ".join(f"{value:.4g}" for value in pair)


def title(name: str) -> str:
    """Begin with a capital letter."""
    return name[0].upper() + name[1:]


def spread(row: Record) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile of a row's ratio."""
    median: float = row["ratio"]
    low, high = row.get("ratio_quartiles", (median, median))
    return low, median, high


def ratio(row: Record, limit: float) -> list[nodes.Node]:
    """Write a ratio, and draw it above its quartiles, with a mark where both take equally long."""
    low, median, high = spread(row)
    text = f"{median:.2f}\u00a0({low:.2f}–{high:.2f})" if low < high else f"{median:.2f}"
    at = [round(4 + 112 * value / limit, 1) for value in (low, median, high, 1)]
    drawn = (
        '<svg viewBox="0 0 120 10" width="120" height="10" aria-hidden="true" '
        'style="display: block; max-width: none">'
        '<path d="M4 5H116" stroke="var(--color-background-border)"/>'
        f'<path d="M{at[3]} 0V10" stroke="currentColor"/>'
        f'<path d="M{at[0]} 5H{at[2]}" stroke="var(--color-brand-primary)" stroke-width="3"/>'
        f'<circle cx="{at[1]}" cy="5" r="3.5" fill="var(--color-brand-primary)"/></svg>'
    )
    return [paragraph(text), nodes.raw("", drawn, format="html")]


def paragraph(text: str) -> nodes.paragraph:
    """Return a paragraph that no catalogue has to translate, with its code as literals."""
    result = nodes.paragraph("", translatable=False)
    for number, part in enumerate(text.split("`")):
        if part:
            result += nodes.literal("", part) if number % 2 else nodes.Text(part)
    return result


def table(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> nodes.table:
    """Return a table."""
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _head in heads]
    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *map(row, rows))
    return nodes.table("", group)


def row(cells: Sequence[Cell]) -> nodes.row:
    """Return a row of texts and of cells that are made already."""
    return nodes.row(
        "", *(nodes.entry("", *([paragraph(c)] if isinstance(c, str) else c)) for c in cells)
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("benchmark", Benchmark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
