"""Loss Modules with a backward of their own, which the training loop calls by hand."""

import torch
from torch import nn


class ContentLoss(nn.Module):
    """Keeps the loss, hands the input on; the weight scales the target and the input."""

    def __init__(self, target, weight):
        super().__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.criterion = nn.MSELoss()

    def forward(self, input):
        self.loss = self.criterion(input * self.weight, self.target)
        return input

    def backward(self, retain_graph=True):
        self.loss.backward(retain_graph=retain_graph)
        return self.loss


# Plain products of float64 numbers: no matrix product, whose rounding depends on the machine.
grid = torch.arange(-3, 4).double() / 7
image = grid.clone().requires_grad_()
targets = [grid + shift for shift in (1, 2, 3)]


def run(weight, score):
    """Return what `score` makes of three losses on one layer, its passes and the gradient."""
    passes = []
    features = image * image * image
    features.register_hook(lambda grad: passes.append(grad))
    losses = [ContentLoss(target, weight) for target in targets]
    for loss in losses:
        loss(features)
    image.grad = None
    total = score(losses)
    return total, len(passes), image.grad


def one_backward_per_loss(losses):
    return sum(loss.backward() for loss in losses)


def one_backward_of_the_sum(losses):
    total = sum(loss.loss for loss in losses)
    total.backward()
    return total


loss = {weight: run(weight, one_backward_of_the_sum)[0].item() for weight in (1, 3)}
for weight in loss:
    print(f"weight {weight}: loss {loss[weight]:.6f}")
print(f"ratio: {loss[3] / loss[1]:.6f}")
print()

gradients = []
for score in one_backward_per_loss, one_backward_of_the_sum:
    total, passes, gradient = run(3, score)
    gradients.append(gradient)
    print(f"{score.__name__}: score {total.item():.6f}, passes through the layer {passes}")
print(f"largest gradient: {gradients[0].abs().max().item():.6f}")
print(f"largest difference: {(gradients[0] - gradients[1]).abs().max().item():.1e}")
