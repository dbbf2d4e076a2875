"""The Gram matrix, forward and backward, against ``F @ F.T`` under plain autograd."""

from collections.abc import Iterator

import torch
from _paired import Row, difference, interleaved, main, row
from torch import Tensor

from backpass.functions import gram_matrix

SHAPES = [(64, 256), (128, 128), (256, 64), (512, 32)]


def compare(rounds: int, channels: int, side: int) -> Iterator[Row]:
    """Yield the row of one shape."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(channels, side, side, generator=generator, requires_grad=True)
    cotangent = torch.randn(channels, channels, generator=generator)

    def plain() -> Tensor:
        matrix = features.reshape(channels, side * side)
        return torch.autograd.grad(matrix @ matrix.T, features, cotangent)[0]

    def ours() -> Tensor:
        return torch.autograd.grad(gram_matrix(features[None]), features, cotangent[None])[0]

    times = interleaved({"plain": plain, "ours": ours}, rounds)
    found = row(f"{channels} × {side} × {side}", "plain autograd", times["plain"], times["ours"])
    yield found | {"relative_difference": difference(plain(), ours())}


if __name__ == "__main__":
    main("gram_matrix", compare, SHAPES, rounds=25, label="Shape", ours="backpass")
