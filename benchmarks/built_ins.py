"""``relu`` and ``linear``, forward and backward, against what PyTorch has built in."""

from collections.abc import Callable, Iterator

import torch
from _paired import Row, difference, interleaved, main, row
from torch import Tensor
from torch.nn import functional as F

from backpass.functions import linear, relu

Operation = Callable[..., Tensor]


def cases() -> Iterator[tuple[str, str, Operation, Operation, list[Tensor]]]:
    """Yield each label, anchor, pair of operations, and their arguments."""
    generator = torch.Generator().manual_seed(0)
    for shape in [(1, 64, 128, 128), (1, 256, 64, 64), (1, 64, 256, 256)]:
        label = f"`relu`, {' × '.join(map(str, shape))}"
        yield label, "`F.relu`", F.relu, relu, [torch.randn(shape, generator=generator)]
    for rows, inputs, outputs in [(64, 784, 100), (256, 1024, 1024)]:
        label = f"`linear`, {rows} × {inputs} → {outputs}"
        shapes = [(rows, inputs), (outputs, inputs), (outputs,)]
        tensors = [torch.randn(shape, generator=generator) for shape in shapes]
        yield label, "`F.linear`", F.linear, linear, tensors


def measure(rounds: int) -> Iterator[Row]:
    """Yield one row for each case."""
    for label, anchor, theirs, ours, tensors in cases():
        arguments = [tensor.requires_grad_() for tensor in tensors]
        cotangent = torch.ones_like(theirs(*arguments))

        def step(operation: Operation) -> tuple[Tensor, ...]:
            return torch.autograd.grad(operation(*arguments), arguments, cotangent)

        times = interleaved({"theirs": lambda: step(theirs), "ours": lambda: step(ours)}, rounds)
        pairs = zip(step(theirs), step(ours), strict=True)
        yield row(label, anchor, times["theirs"], times["ours"]) | {
            "relative_difference": max(difference(*pair) for pair in pairs)
        }


if __name__ == "__main__":
    main("built_ins", measure, label="Operation", rounds=101)
