"""Walk the graph that autograd recorded, and keep a plain description of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import graph as autograd
from torch.autograd.function import BackwardCFunction

from backpass.graph import _svg, _text


def draw(tensor: Tensor, *, saved: bool = False, max_nodes: int = 200) -> "Graph":
    """Draw the graph that ``backward`` would walk from a tensor down to the leaves.

    The boxes are the nodes of the graph, which are functions and not tensors: ``grad_fn`` of
    ``tensor`` on top, below each node its ``next_functions``, and ``AccumulateGrad`` where a
    gradient is added to the ``.grad`` of a leaf. An arrow points the way that a gradient takes;
    a number beside it tells the output that it leads to where a node has several. A node is drawn
    once, however many arrows lead to it. A custom Function has a double outline. Inputs that need
    no gradient have no node.

    A notebook or a gallery page shows the picture, ``str`` gives the same graph as text. There,
    ``AccumulateGrad`` is called leaf, the only input of a node stands straight below it, several
    are indented, and a node that is used more than once has a number.

    Args:
        tensor: The result of a computation, or a leaf that requires grad.
        saved: Whether to list the tensors that each node keeps for its backward. ``@`` numbers
            their storages: the total, which includes parameters and inputs that are alive
            anyway, counts each storage once, and in full where only a part of it is saved. Hooks
            that pack saved tensors are not run; what they packed is named.
        max_nodes: The number of nodes to show, those nearest to ``tensor``; the others are
            counted.

    Returns:
        The picture. It holds text and numbers only and keeps neither the graph nor a tensor alive.

    Raises:
        TypeError: If ``tensor`` is not a tensor, or ``max_nodes`` is not an ``int``.
        ValueError: If ``tensor`` does not require grad, or ``max_nodes`` is less than 1.

    Example:
        >>> import torch
        >>> from backpass.functions import relu
        >>> from backpass.graph import draw
        >>> x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> y = (x * relu(x)).sum()
        >>> print(draw(y, saved=True))
        SumBackward0 () float64
        MulBackward0 (2,) float64
        │    _saved_other: (2,) float64, 16 bytes @1
        │    _saved_self: (2,) float64, 16 bytes @2
        ├─ #1 leaf (2,) float64
        └─ _ReLUBackward (2,) float64, custom
                saved_tensors[0]: (2,) float64, 16 bytes @1
           #1 leaf, see above
        saved in all: 3 tensors in 2 storages, 32 bytes

        After a backward, the tensors are gone and the graph is still there.

        >>> y.backward()
        >>> print(draw(y, saved=True))
        SumBackward0 () float64
        MulBackward0 (2,) float64
        │    saved tensors: none left, a backward has freed the graph
        ├─ #1 leaf (2,) float64
        └─ _ReLUBackward (2,) float64, custom
                saved tensors: none left, a backward has freed the graph
           #1 leaf, see above
        saved in all: 0 tensors in 0 storages, 0 bytes; none left in 2 nodes
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"draw: expected a torch.Tensor, got {type(tensor).__name__}; "
            "pass one tensor, for example the loss"
        )
    if not tensor.requires_grad:
        raise ValueError(
            "draw: expected a tensor with a graph, got one that does not require grad; "
            "call it on the result of an operation on a tensor with requires_grad=True"
        )
    if isinstance(max_nodes, bool) or not isinstance(max_nodes, int):
        raise TypeError(
            f"draw: expected max_nodes to be an int, got {type(max_nodes).__name__}; "
            "it is the number of nodes to show"
        )
    if max_nodes < 1:
        raise ValueError(
            f"draw: expected max_nodes of at least 1, got {max_nodes}; "
            "the node of the tensor itself is always shown"
        )
    return _describe(tensor, saved=saved, max_nodes=max_nodes)


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor, or what a hook made of it, that a node keeps for its backward."""

    name: str
    type: str
    nbytes: int | None  # None for what a hook packed
    storages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph; ``next`` holds pairs of a node's number and of an output's."""

    name: str
    kind: Literal["function", "custom", "leaf"]
    outputs: tuple[str, ...]
    next: tuple[tuple[int, int], ...]
    saved: tuple[Saved, ...] | None  # None once they were freed


@dataclass(frozen=True, slots=True)
class Totals:
    """What all nodes save together, those that are not shown included."""

    tensors: int
    storages: int
    nbytes: int
    freed: int


@dataclass(frozen=True, slots=True, repr=False)
class Graph:
    """The picture that :func:`backpass.graph.draw` returns: SVG in a notebook, text for ``str``.

    The text is made of the nodes' names, their shapes and dtypes. The SVG takes its colours from
    the page around it, in light and in dark mode, and needs no script and no other file.
    """

    nodes: tuple[Node, ...]
    hidden: int
    output: int
    totals: Totals | None

    __module__ = "backpass.graph"  # the path under which it is documented and pickled

    def __repr__(self) -> str:
        return _text.render(self)

    def _repr_html_(self) -> str:
        return _svg.render(self)


def _describe(tensor: Tensor, *, saved: bool, max_nodes: int) -> Graph:
    root = tensor.grad_fn
    if root is None:
        root = autograd.get_gradient_edge(tensor).node
    # A wrapper that nobody holds is made anew, perhaps at the address of another, so all are held.
    order = [root]
    number = {root: 0}
    nodes: list[Node] = []
    storages = _Storages()
    for node in order:
        links = []
        for following, output in node.next_functions:
            if following is None:
                continue
            if following not in number:
                number[following] = len(order)
                order.append(following)
            links.append((number[following], output))
        kept = storages.saved_by(node) if saved else ()
        if len(nodes) < max_nodes:
            nodes.append(Node(_name(node), _kind(node), _outputs(node), tuple(links), kept))
    totals = storages.totals() if saved else None
    return Graph(tuple(nodes), len(order) - len(nodes), tensor.output_nr, totals)


def _name(node: autograd.Node) -> str:
    return node.name().removeprefix("torch::autograd::")


def _kind(node: Any) -> Literal["function", "custom", "leaf"]:
    if isinstance(node, BackwardCFunction):
        return "custom"
    return "leaf" if hasattr(node, "variable") else "function"


def _outputs(node: autograd.Node) -> tuple[str, ...]:
    return tuple(_type(metadata) for metadata in node._input_metadata)


def _type(value: Any) -> str:
    try:
        shape = str(tuple(value.shape))
    except RuntimeError:  # of a nested tensor with the strided layout
        shape = "nested"
    return f"{shape} {str(value.dtype).removeprefix('torch.')}"


class _Storages:
    """The storages of saved tensors, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.tensors = self.nbytes = self.freed = 0

    def saved_by(self, node: autograd.Node) -> tuple[Saved, ...] | None:
        try:
            packed = list(_packed(node))
        except RuntimeError:  # torch's word for saved tensors that a backward has freed
            self.freed += 1
            return None
        return tuple(self._entry(name, kept) for name, kept in packed)

    def totals(self) -> Totals:
        return Totals(self.tensors, len(self.numbers), self.nbytes, self.freed)

    def _entry(self, name: str, kept: object) -> Saved:
        if not isinstance(kept, Tensor):
            return Saved(name, type(kept).__name__, None, ())
        self.tensors += 1
        try:
            storages = [part.untyped_storage() for part in _parts(kept)]
        except NotImplementedError:  # an opaque tensor, as inside torch.func.grad
            self.nbytes += kept.nbytes
            return Saved(name, _type(kept), kept.nbytes, ())
        for storage in storages:
            if storage._cdata not in self.numbers:
                self.numbers[storage._cdata] = len(self.numbers) + 1
                self.nbytes += storage.nbytes()
        nbytes = sum(storage.nbytes() for storage in storages)
        return Saved(name, _type(kept), nbytes, tuple(self.numbers[s._cdata] for s in storages))


def _packed(node: autograd.Node) -> Iterator[tuple[str, object]]:
    # The raw attributes give what is stored. The others would run unpack hooks, which may copy
    # to a GPU or recompute a forward, and would raise after a modification in place.
    for attribute in dir(node):
        if not attribute.startswith("_raw_saved_"):
            continue
        custom = attribute == "_raw_saved_tensors" and isinstance(node, BackwardCFunction)
        name = "saved_tensors" if custom else attribute.removeprefix("_raw")
        raw = getattr(node, attribute)
        several = isinstance(raw, tuple)
        for i, item in enumerate(raw if several else (raw,)):
            if item.data is not None:
                yield f"{name}[{i}]" if several else name, item.data
            elif not several:
                getattr(node, name)  # raises if it was freed, and not None all along


_COMPONENTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
    torch.jagged: ("offsets", "values"),
}


def _parts(tensor: Tensor) -> list[Tensor]:
    methods = _COMPONENTS.get(tensor.layout)
    return [tensor] if methods is None else [getattr(tensor, method)() for method in methods]
