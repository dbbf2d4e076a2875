"""Place the boxes of a layered drawing: layers, then order in a layer, then coordinates."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from statistics import fmean
from typing import NamedTuple, TypeAlias

SIDE, LANE, BETWEEN = 24.0, 14.0, 44.0  # space beside a box, beside a line, between two layers
SWEEPS = 8
Table: TypeAlias = list[list[int]]


class Line(NamedTuple):
    """A line from ``(x, top)`` straight down to ``bend``, then curved to ``(to_x, to_y)``."""

    x: float
    top: float
    bend: float
    to_x: float
    to_y: float
    ends: bool  # at a box, rather than at a bend
    label: str


class Layout(NamedTuple):
    """The centres and tops of the boxes, the lines between them, and the size of the whole."""

    boxes: list[tuple[float, float]]
    lines: list[Line]
    width: float
    height: float


def arrange(sizes: Sequence[tuple[float, float]], links: dict[tuple[int, int], str]) -> Layout:
    """Lay out an acyclic graph whose links lead down from box 0, which reaches every other box.

    Links to one box with one label share a bend in each layer they pass: they join, never part.
    """
    depths = _longest_paths(*_neighbours(len(sizes), links))
    bends: dict[tuple[int, str, int], int] = {}
    steps: dict[tuple[int, int], str] = {}
    for (parent, child), label in links.items():
        layers_between = range(depths[parent] + 1, depths[child])
        way = [bends.setdefault((child, label, d), len(sizes) + len(bends)) for d in layers_between]
        for step in pairwise([parent, *way, child]):
            steps.setdefault(step, label if step[0] == parent else "")
    depths += [depth for _, _, depth in bends]
    boxes = [*sizes, *[(0.0, 0.0)] * len(bends)]
    above, below = _neighbours(len(boxes), steps)
    layers = _order(depths, above, below)
    x = _columns(layers, above, below, [width for width, _ in boxes])
    tops, bottoms = [0.0], []
    for layer in layers:
        bottoms.append(tops[-1] + max(boxes[i][1] for i in layer))
        tops.append(bottoms[-1] + BETWEEN)
    lines = []
    for (parent, child), label in steps.items():
        d, ends = depths[parent], child < len(sizes)
        top = tops[d] + boxes[parent][1]
        lines.append(Line(x[parent], top, bottoms[d], x[child], tops[d + 1], ends, label))
    width = max(centre + box[0] / 2 for centre, box in zip(x, boxes, strict=True))
    return Layout([(x[i], tops[depths[i]]) for i in range(len(sizes))], lines, width, bottoms[-1])


def _neighbours(count: int, pairs: Iterable[tuple[int, int]]) -> tuple[Table, Table]:
    above: Table = [[] for _ in range(count)]
    below: Table = [[] for _ in range(count)]
    for parent, child in pairs:
        above[child].append(parent)
        below[parent].append(child)
    return above, below


def _longest_paths(above: Table, below: Table) -> list[int]:
    depths, waiting, ready = [0] * len(above), list(map(len, above)), [0]
    for parent in ready:  # in the order of their depths, so the last parent is the deepest
        for child in below[parent]:
            waiting[child] -= 1
            if waiting[child] == 0:
                depths[child] = depths[parent] + 1
                ready.append(child)
    return depths


def _order(depths: list[int], above: Table, below: Table) -> Table:
    # Depth first, so that a tree starts without a crossing and with its inputs in their order.
    layers: Table = [[] for _ in range(max(depths) + 1)]
    stack, seen = [0], set()
    while stack:
        if (i := stack.pop()) not in seen:
            seen.add(i)
            layers[depths[i]].append(i)
            stack += reversed(below[i])
    best, fewest = layers, _crossings(layers, below)
    for sweep in range(SWEEPS if fewest else 0):
        near, turn = (below, -1) if sweep % 2 else (above, 1)
        layers = [list(layer) for layer in layers]
        for fixed, layer in pairwise(layers[::turn]):
            place = {i: p for row in (fixed, layer) for p, i in enumerate(row)}
            wanted = {i: fmean(place[j] for j in near[i] or [i]) for i in layer}
            layer.sort(key=wanted.__getitem__)
        if (crossings := _crossings(layers, below)) < fewest:
            best, fewest = layers, crossings
    return best


def _crossings(layers: Table, below: Table) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        place = {i: p for p, i in enumerate(lower)}
        met: list[int] = []
        for parent in upper:
            for end in sorted(place[child] for child in below[parent]):
                total += len(met) - bisect_right(met, end)
                insort(met, end)
    return total


def _columns(layers: Table, above: Table, below: Table, widths: list[float]) -> list[float]:
    x = [0.0] * len(widths)
    for sweep in range(SWEEPS + 1):
        near, turn = (above, 1) if sweep % 2 else (below, -1)
        for layer in layers[::turn]:
            wanted = [fmean(x[j] for j in near[i] or [i]) for i in layer]
            centres = _apart(wanted, [widths[i] for i in layer])
            for i, centre in zip(layer, centres, strict=True):
                x[i] = centre
    left = min(centre - width / 2 for centre, width in zip(x, widths, strict=True))
    return [centre - left for centre in x]


def _apart(wanted: list[float], widths: list[float]) -> list[float]:
    """Return the positions closest to those wanted (least squares) that keep order and space."""
    steps = ((a + b) / 2 + (SIDE if a and b else LANE) for a, b in pairwise(widths))
    offsets = list(accumulate(steps, initial=0.0))
    # Less their offsets, positions must only not decrease: those that would share their mean.
    pools: list[tuple[float, float, int]] = []
    for want, offset, width in zip(wanted, offsets, widths, strict=True):
        pool = want - offset, 1.0 if width else 4.0, 1  # lines bend less willingly than boxes move
        while pools and pools[-1][0] >= pool[0]:
            (mean, heavy, count), (other, light, more) = pools.pop(), pool
            both = heavy + light
            pool = (mean * heavy + other * light) / both, both, count + more
        pools.append(pool)
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
