"""Write a graph as text, one line for each node."""

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backpass.graph._graph import Graph, Node

_WORDS = {
    "freed": "saved tensors: none left, a backward has freed the graph",
    "packed": "packed by a hook as ",
    "unit": "bytes",
}


def render(graph: "Graph") -> str:
    """Write the graph as a tree in which a shared node is written once and then named."""
    uses = Counter(following for node in graph.nodes for following, _ in _branches(graph, node))
    numbers: dict[int, int] = {}
    lines = []
    # The stack holds what is still to be written, the next on top: no recursion, no limit to it.
    stack: list[tuple[str, str, int, tuple[int, ...]]] = [("", "", 0, (graph.output,))]
    while stack:
        branch, below, index, outputs = stack.pop()
        if index >= len(graph.nodes):
            lines.append(f"{branch}…")
            continue
        node = graph.nodes[index]
        seen = index in numbers
        number = f"#{numbers.setdefault(index, len(numbers) + 1)} " if uses[index] > 1 else ""
        name = "leaf" if node.kind == "leaf" else node.name
        head = f"{branch}{_where(node, outputs)}{number}{name}"
        if seen:
            lines.append(f"{head}, see above")
            continue
        custom = ", custom" if node.kind == "custom" else ""
        lines.append(f"{head} {summary(node.outputs)}".rstrip() + custom)
        branches = _branches(graph, node)
        rule = "│" if len(branches) > 1 else " "
        lines += [f"{below}{rule}    {entry}" for entry in entries(node, **_WORDS)]
        stack += [
            (below + corner, below + beside, *following)
            for (corner, beside), following in zip(_rules(len(branches)), branches, strict=True)
        ][::-1]
    return "\n".join(lines + _end(graph))


def summary(outputs: tuple[str, ...]) -> str:
    """Name the types of a node's outputs, equal neighbours together."""
    runs = [(kind, len(list(run))) for kind, run in groupby(outputs)]
    return listing([kind if count == 1 else f"{count} × {kind}" for kind, count in runs])


def listing(words: list[str]) -> str:
    """Join a few words, and only the first of many."""
    return ", ".join(words if len(words) <= 4 else [*words[:3], "…"])


def entries(node: "Node", *, freed: str, packed: str, unit: str) -> list[str]:
    """Name what a node saves; ``freed`` stands for all of it once a backward has freed it."""
    if node.saved is None:
        return [freed]
    texts = []
    for saved in node.saved:
        if saved.nbytes is None:
            texts.append(f"{saved.name}: {packed}{saved.type}")
        else:
            places = f" @{','.join(map(str, saved.storages))}" if saved.storages else ""
            texts.append(f"{saved.name}: {saved.type}, {saved.nbytes:,} {unit}{places}")
    return texts


def _branches(graph: "Graph", node: "Node") -> list[tuple[int, tuple[int, ...]]]:
    # Neighbouring inputs that are outputs of one node are one branch; so are all that are hidden.
    branches: list[tuple[int, tuple[int, ...]]] = []
    for link, output in node.next:
        following = min(link, len(graph.nodes))
        joins = following == len(graph.nodes) or len(graph.nodes[following].outputs) > 1
        if joins and branches and branches[-1][0] == following:
            branches[-1] = (following, (*branches[-1][1], output))
        else:
            branches.append((following, (output,)))
    return branches


def _where(node: "Node", outputs: tuple[int, ...]) -> str:
    if len(node.outputs) < 2:
        return ""
    plural = "s" if len(outputs) > 1 else ""
    return f"output{plural} {listing([str(output) for output in outputs])} of "


def _rules(count: int) -> list[tuple[str, str]]:
    if count < 2:  # an only input stands straight below, so that chains do not drift to the right
        return [("", "")] * count
    return [*[("├─ ", "│  ")] * (count - 1), ("└─ ", "   ")]


def _end(graph: "Graph") -> list[str]:
    lines = []
    if graph.hidden:
        lines.append(f"… and {_count(graph.hidden, 'more node')}")
    if (totals := graph.totals) is not None:
        freed = f"; none left in {_count(totals.freed, 'node')}" if totals.freed else ""
        lines.append(
            f"saved in all: {_count(totals.tensors, 'tensor')} in "
            f"{_count(totals.storages, 'storage')}, {_count(totals.nbytes, 'byte')}{freed}"
        )
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
