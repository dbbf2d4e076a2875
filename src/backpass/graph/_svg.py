"""Draw a graph as an inline SVG that takes its colour from the page."""

from html import escape
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from backpass.graph import _layout
from backpass.graph._text import entries, listing, summary

if TYPE_CHECKING:
    from backpass.graph._graph import Graph, Node

NAME, DETAIL = 13, 11  # font sizes
PADDING, MARGIN, RULE, HEAD = 12, 8, 6, 8
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def render(graph: "Graph") -> str:
    """Draw the graph; the wrapper scrolls where the page is narrower than the picture."""
    boxes = [_Box(node, graph.output if i == 0 else None) for i, node in enumerate(graph.nodes)]
    if graph.hidden:
        boxes.append(_Box(f"… +{graph.hidden:,}"))
    layout = _layout.arrange([(box.width, box.height) for box in boxes], _links(graph))
    canvas = _Canvas(layout.width, layout.height)
    for line in layout.lines:
        _draw_line(canvas, line)
    for box, (centre, top) in zip(boxes, layout.boxes, strict=True):
        box.draw(canvas, centre, top)
    if graph.totals is not None:
        canvas.height += 2 * DETAIL
        canvas.text(f"Σ {graph.totals.nbytes:,} B", DETAIL, 0, canvas.height)
    return _document(graph, canvas)


class _Canvas:
    """Collects outlines and filled shapes, which take their paint from a group of their own."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.outlines: list[str] = []
        self.fills: list[str] = []

    def path(self, data: str, *, filled: bool = False) -> None:
        (self.fills if filled else self.outlines).append(f'<path d="{data}"/>')

    def rectangle(
        self, left: float, top: float, size: tuple[float, float], radius: float, *, dashed: bool
    ) -> None:
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self.outlines.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" '
            f'rx="{radius:.1f}"{dashes}/>'
        )

    def text(self, text: str, size: int, left: float, baseline: float) -> None:
        # textLength holds in any font: a wider one is squeezed, so no text leaves its box.
        width = _text_width(text, size)
        self.width = max(self.width, left + width)
        self.fills.append(
            f'<text x="{left:.1f}" y="{baseline:.1f}" font-size="{size}" textLength="{width:.1f}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        )


class _Box:
    """A node: its name, the types of its outputs, and below a rule what it saves."""

    def __init__(self, node: "Node | str", output: int | None = None) -> None:
        self.entries: list[str] = []
        if isinstance(node, str):
            self.kind, self.lines = "hidden", [(node, NAME)]
        else:
            several = output is not None and len(node.outputs) > 1
            name = f"{node.name} [{output}]" if several else node.name
            self.kind, self.lines = node.kind, [(name, NAME), (summary(node.outputs), DETAIL)]
            self.entries = entries(node, freed="∅ retain_graph=False", packed="", unit="B")
        texts = [*self.lines, *((entry, DETAIL) for entry in self.entries)]
        self.width = max(_text_width(*text) for text in texts) + 2 * PADDING
        self.height = sum(_line_height(size) for _, size in texts) + PADDING
        if self.entries:
            self.height += RULE

    def draw(self, canvas: _Canvas, centre: float, top: float) -> None:
        left = centre - self.width / 2
        radius = self.height / 2 if self.kind == "leaf" else 4
        outer = self.width, self.height
        canvas.rectangle(left, top, outer, radius, dashed=self.kind == "hidden")
        if self.kind == "custom":
            inner = self.width - 6, self.height - 6
            canvas.rectangle(left + 3, top + 3, inner, 2, dashed=False)
        y = top + PADDING / 2
        for text, size in self.lines:
            y += _line_height(size)
            canvas.text(text, size, centre - _text_width(text, size) / 2, y - 0.3 * size)
        if self.entries:
            y += RULE
            canvas.path(f"M{left + 6:.1f} {y - RULE / 2:.1f}h{self.width - 12:.1f}")
        for entry in self.entries:
            y += _line_height(DETAIL)
            canvas.text(entry, DETAIL, left + PADDING, y - 0.3 * DETAIL)


def _text_width(text: str, size: int) -> float:
    columns = sum(2 if east_asian_width(c) in "WF" else not combining(c) for c in text)
    return columns * size * 0.61


def _line_height(size: int) -> float:
    return 1.4 * size


def _draw_line(canvas: _Canvas, line: _layout.Line) -> None:
    middle = (line.bend + line.to_y) / 2
    end = line.to_y - (HEAD if line.ends else 0)
    canvas.path(
        f"M{line.x:.1f} {line.top:.1f}V{line.bend:.1f}"
        f"C{line.x:.1f} {middle:.1f} {line.to_x:.1f} {middle:.1f} {line.to_x:.1f} {end:.1f}"
    )
    if line.ends:
        canvas.path(f"M{line.to_x:.1f} {line.to_y:.1f}l-4 {-HEAD}h8z", filled=True)
    if line.label:
        # Below the middle of the line, where lines that meet at a box leave room.
        width, x = _text_width(line.label, DETAIL), (line.x + line.to_x) / 2
        left = x + 5 if line.to_x <= line.x else max(x - 5 - width, 0)
        canvas.text(line.label, DETAIL, left, middle + DETAIL)


def _links(graph: "Graph") -> dict[tuple[int, int], str]:
    shown = len(graph.nodes)
    outputs: dict[tuple[int, int], list[int]] = {}
    for parent, node in enumerate(graph.nodes):
        for child, output in node.next:
            outputs.setdefault((parent, min(child, shown)), []).append(output)
    labels = {}
    for (parent, child), used in outputs.items():
        if child < shown and len(graph.nodes[child].outputs) > 1:
            labels[parent, child] = listing([str(output) for output in used])
        else:
            labels[parent, child] = f"×{len(used)}" if len(used) > 1 and child < shown else ""
    return labels


def _document(graph: "Graph", canvas: _Canvas) -> str:
    root = graph.nodes[0]
    title = escape(f"grad_fn: {root.name} {summary(root.outputs)}")
    width, height = canvas.width + 2 * MARGIN, canvas.height + 2 * MARGIN
    head = (
        f'<div class="backpass-graph" role="group" aria-label="{title}" tabindex="0" '
        'style="overflow-x: auto">\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="{-MARGIN} {-MARGIN} {width:.0f} {height:.0f}" '
        f'style="display: block; max-width: none" font-family="{FONT}">\n'
        f"<title>{title}</title>\n<desc>{escape(_description(graph))}</desc>"
    )
    outlines = ['<g fill="none" stroke="currentColor">', *canvas.outlines, "</g>"]
    fills = ['<g fill="currentColor">', *canvas.fills, "</g>"]
    return "\n".join([head, *outlines, *fills, "</svg></div>"])


def _description(graph: "Graph") -> str:
    names = [node.name for node in graph.nodes]
    sentences = []
    for node in graph.nodes:
        following = [names[i] if i < len(names) else "…" for i, _ in node.next]
        if following:
            sentences.append(f"{node.name} → {', '.join(following)}")
    return "; ".join(sentences)
