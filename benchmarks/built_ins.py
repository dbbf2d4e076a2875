"""``relu`` and ``linear``, forward and backward, against what PyTorch has built in."""

from collections.abc import Callable, Iterator

import torch
from _paired import Row, difference, interleaved, main, row
from torch import Tensor
from torch.nn import functional as F

from backpass.functions import linear, relu

CASES = [
    (relu, F.relu, [(64, 128, 128)]),
    (relu, F.relu, [(256, 64, 64)]),
    (relu, F.relu, [(64, 256, 256)]),
    (linear, F.linear, [(64, 784), (100, 784), (100,)]),
    (linear, F.linear, [(256, 1024), (1024, 1024), (1024,)]),
]


def compare(
    rounds: int,
    ours: Callable[..., Tensor],
    theirs: Callable[..., Tensor],
    shapes: list[tuple[int, ...]],
) -> Iterator[Row]:
    """Yield the row of one function and the shapes of its arguments."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(shape, generator=generator, requires_grad=True) for shape in shapes]
    cotangent = torch.ones_like(theirs(*tensors))

    def step(function: Callable[..., Tensor]) -> tuple[Tensor, ...]:
        return torch.autograd.grad(function(*tensors), tensors, cotangent)

    times = interleaved({"theirs": lambda: step(theirs), "ours": lambda: step(ours)}, rounds)
    sizes = "; ".join(" × ".join(map(str, shape)) for shape in shapes[:2])
    name = ours.__name__
    yield row(f"`{name}`, {sizes}", f"`F.{name}`", times["theirs"], times["ours"]) | {
        "relative_difference": max(map(difference, step(theirs), step(ours)))
    }


if __name__ == "__main__":
    main("built_ins", compare, CASES, rounds=101, label="Operation", ours="backpass")
