"""One backward per loss, as before PyTorch 0.4, against one backward of the sum of the losses."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from _paired import Row, difference, interleaved, main, row
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

DEPTH, CHANNELS, SIDE = 16, 16, 128


class Counting(TorchDispatchMode):
    """Count the backwards of convolutions."""

    count = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Count, and do what was asked for."""
        self.count += function is torch.ops.aten.convolution_backward.default
        return function(*args, **(kwargs or {}))


def backwards(step: Callable[[], object]) -> int:
    """Return how many backwards of convolutions a step executes."""
    with Counting() as counting:
        step()
    return counting.count


def compare(rounds: int, count: int) -> Iterator[Row]:
    """Yield the row of one number of losses, of which the last stands behind the last layer."""
    torch.manual_seed(0)
    widths = [3] + [CHANNELS] * DEPTH
    layers = [nn.Conv2d(*pair, 3, padding=1).requires_grad_(False) for pair in pairwise(widths)]
    picture = torch.rand(1, 3, SIDE, SIDE).requires_grad_()
    depths = {round(DEPTH * number / count) for number in range(1, count + 1)}

    def losses() -> list[Tensor]:
        output, found = picture, []
        for depth, layer in enumerate(layers, 1):
            output = layer(output).relu()
            if depth in depths:
                found.append(F.mse_loss(output, torch.ones_like(output)))
        return found

    def many() -> Tensor:
        picture.grad = None
        for loss in losses():
            loss.backward(retain_graph=True)
        return picture.grad

    def one() -> Tensor:
        picture.grad = None
        sum(losses()).backward()
        return picture.grad

    times = interleaved({"one": one, "many": many}, rounds)
    yield row(str(count), "one backward of the sum", times["one"], times["many"]) | {
        "relative_difference": difference(one(), many()),
        "columns": {"Backwards of convolutions": [backwards(one), backwards(many)]},
    }


if __name__ == "__main__":
    counts = [(1,), (2,), (4,), (8,), (12,), (16,)]
    main("pre04", compare, counts, rounds=21, label="Losses", ours="One backward per loss")
