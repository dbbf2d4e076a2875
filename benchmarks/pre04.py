"""One backward per loss, as before PyTorch 0.4, against one backward of the sum of the losses."""

from collections.abc import Iterator

import torch
from _paired import Row, difference, interleaved, main, row
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

DEPTH, CHANNELS, SIDE = 16, 16, 128
COUNTS = [1, 2, 4, 8, 12, 16]


class Counting(TorchDispatchMode):
    """Count the backwards of convolutions."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204, ARG002
        self.count += func is torch.ops.aten.convolution_backward.default
        return func(*args, **(kwargs or {}))


def measure(rounds: int) -> Iterator[Row]:
    """Yield one row for each number of losses; the deepest is always after the last layer."""
    torch.manual_seed(0)
    widths = [3] + [CHANNELS] * DEPTH
    layers = [nn.Conv2d(*pair, 3, padding=1) for pair in zip(widths, widths[1:], strict=False)]
    for layer in layers:
        layer.requires_grad_(requires_grad=False)
    picture = torch.rand(1, 3, SIDE, SIDE).requires_grad_()

    for count in COUNTS:
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

        counts = []
        for step in (one, many):
            with Counting() as counting:
                step()
            counts.append(counting.count)
        times = interleaved({"one": one, "many": many}, rounds)
        yield row(str(count), "one backward of the sum", times["one"], times["many"]) | {
            "relative_difference": difference(one(), many()),
            "columns": {"Backwards of convolutions": counts},
        }


if __name__ == "__main__":
    main("pre04", measure, label="Losses", rounds=21, ours="one backward per loss")
