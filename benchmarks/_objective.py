"""The objective of a style transfer, with the losses of backpass or with plain ones."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from total_variation import sliced

from backpass.losses import ContentLoss, StyleLoss, TotalVariationLoss
from backpass.style import features

SHIFT = -1.0
CONTENT, VARIATION = 0.03, 0.3

Losses = Literal["ours", "plain"]


def plain_gram(seen: Tensor) -> Tensor:
    """Return the Gram matrix as the tutorial computes it."""
    matrix = seen.reshape(seen.shape[1], -1)
    return matrix @ matrix.T / matrix.numel()


def objective(
    network: nn.Module, content: Tensor, style: Tensor, losses: Losses
) -> Callable[[Tensor], Tensor]:
    """Return the sum of losses of a picture, each divided by the size of its target."""
    with torch.no_grad():
        styles = features(network, style, network.style_layers)
        contents = features(network, content, network.content_layers)
    terms: list[tuple[str, Callable[[Tensor], Tensor]]] = []
    for layer, seen in styles.items():
        gram = plain_gram(seen + SHIFT)
        weight = 1 / (len(styles) * gram.square().mean().item())
        loss = StyleLoss(gram[None], weight=weight) if losses == "ours" else _style(gram, weight)
        terms.append((layer, lambda found, loss=loss: loss(found + SHIFT)))
    for layer, seen in contents.items():
        weight = CONTENT / seen.square().mean().item()
        terms.append(
            (
                layer,
                ContentLoss(seen, weight=weight) if losses == "ours" else _content(seen, weight),
            )
        )
    calm = TotalVariationLoss(weight=VARIATION) if losses == "ours" else _variation

    def total(picture: Tensor) -> Tensor:
        found = features(network, picture, [*styles, *contents])
        return sum((loss(found[layer]) for layer, loss in terms), calm(picture))

    return total


def _style(gram: Tensor, weight: float) -> Callable[[Tensor], Tensor]:
    return lambda seen: weight * F.mse_loss(plain_gram(seen), gram)


def _content(target: Tensor, weight: float) -> Callable[[Tensor], Tensor]:
    return lambda seen: weight * F.mse_loss(seen, target)


def _variation(picture: Tensor) -> Tensor:
    return VARIATION * sliced(picture, 2)
