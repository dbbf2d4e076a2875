r"""
The gradient of ReLU at zero is a choice, and PyTorch takes zero
================================================================

A ReLU has a kink at zero and no derivative there. This page writes the Function with its own
backward, and shows how one sign in a mask makes it differ from ``F.relu``.

In short
--------

**Let the gradient pass where the output is positive, and nowhere else.** The output alone says
where that is, so the output is all that the backward needs.
"""

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function
from torch.nn import functional as F

from backpass.functions import relu
from backpass.graph import draw


class ReLU(Function):
    @staticmethod
    def forward(input):
        return input.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (output,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad_output, output, 0)


# %%
# A Function is called through ``apply``. This class is the core of
# :func:`backpass.functions.relu`; the library adds a check of the input and support for ``vmap``.
#
# A number to predict
# -------------------
#
# The input is -1, 0 and 2. The gradient of the sum is 0 on the left of the kink and 1 on the right
# of it. What is it **at** the kink? PyTorch takes **0**, and so do we.

x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
(grad_input,) = torch.autograd.grad(ReLU.apply(x).sum(), x)
print(grad_input)

# %%
# The formula
# -----------
#
# .. math::
#
#     y = \max(x, 0) \qquad
#     \bar{x}_i = \begin{cases} \bar{y}_i & \text{if } y_i > 0 \\ 0 & \text{if } y_i = 0 \end{cases}
#
# Here :math:`x` is ``input``, :math:`y` is ``output`` and :math:`\bar{y}` is ``grad_output``, the
# cotangent of the output. ``threshold_backward`` is the second formula: it keeps the elements of
# ``grad_output`` where ``output`` is above the threshold 0, and puts 0 elsewhere.
#
# The output is positive exactly where the input is. So we save the output and not the input:
# the next layer often saves that tensor anyway, and then it costs nothing. PyTorch does the same.
# Its own ReLU also keeps the result, and it has the same backward. The derivative of
# ``threshold_backward`` gives it away:

print(F.relu(x).grad_fn._saved_result)
for function in (F.relu, ReLU.apply):
    (tracked,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    print(tracked.grad_fn.name())

# %%
# In the graph, look at the numbers after ``@``. They are the memory that a tensor lies in. The sine
# saves its input, the ReLU saves its output, and both are the same memory.

draw(ReLU.apply(x).sin(), saved=True)

# %%
# What goes wrong: the mask that forgets the kink
# -----------------------------------------------
#
# A widespread version saves the input and sets the gradient to zero where ``input < 0``. Zero is
# not less than zero, so at the kink the gradient passes.


class MaskedReLU(Function):
    @staticmethod
    def forward(input):
        return input.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.masked_fill(input < 0, 0)


(grad_masked,) = torch.autograd.grad(MaskedReLU.apply(x).sum(), x)
print("input < 0:", grad_masked)
print("F.relu:   ", torch.autograd.grad(F.relu(x).sum(), x)[0])

# %%
# Is 1 wrong? As mathematics it is not: at the kink every number from 0 to 1 is a subgradient. But
# it is another choice than that of ``F.relu``, and inputs that are exactly zero are common. Padding
# is zero, and another ReLU before puts out many zeros. A network whose ReLU is exchanged then gets
# other gradients, without an error.
#
# The picture
# -----------
#
# Look at the three gradients very close to the kink. The first two are steps that differ in one
# point only. The third is the central difference, which :func:`torch.autograd.gradcheck` computes
# with ``eps = 1e-6``: its interval reaches over the kink, and it gives 0.5 in the middle.

eps = 1e-6
near = torch.linspace(-3 * eps, 3 * eps, 121, dtype=torch.float64)
near[60] = 0  # linspace may miss the kink by a rounding error.
central_difference = (near + eps).relu().sub((near - eps).relu()) / (2 * eps)
near.requires_grad_()

figure, axes = plt.subplots(1, 3, figsize=(7, 2.6), sharey=True, layout="constrained")
at_kink = []
for ax, title, gradient in (
    (axes[0], "relu, F.relu", torch.autograd.grad(relu(near).sum(), near)[0]),
    (axes[1], "input < 0", torch.autograd.grad(MaskedReLU.apply(near).sum(), near)[0]),
    (axes[2], "(f(x + eps) - f(x - eps)) / (2 * eps)", central_difference),
):
    at_kink.append(round(gradient[60].item(), 6))
    ax.plot(near.detach(), gradient, ".", markersize=2, color="C0")
    ax.plot(0, gradient[60], "o", color="C3", label=f"x = 0: {at_kink[-1]:g}")
    ax.set_title(title, fontsize=9)
    ax.set(xlabel="x", xticks=[-2 * eps, 0, 2 * eps], xticklabels=["-2 eps", "0", "2 eps"])
    ax.legend(loc="lower right", handlelength=1)
axes[0].set(ylabel="grad_input", ylim=(-0.4, 1.15))
print(at_kink)

# %%
# So :func:`torch.autograd.gradcheck` cannot decide: exactly at the kink it rejects both, because
# neither is 0.5. Away from the kink it accepts both. Only a comparison with ``F.relu`` at zero
# itself sees the difference.


def passes(function, *values):
    input = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(function, input, raise_exception=False)


for function in (ReLU.apply, MaskedReLU.apply):
    print("away:", passes(function, -1, 2), " at the kink:", passes(function, 0))

# %%
# What goes wrong: a product with the mask
# ----------------------------------------
#
# The second formula is often written as a product, ``grad_output * (output > 0)``. For finite
# numbers this is the same. But a cotangent can be infinite, for example when a loss in half
# precision overflows. Infinity times zero is NaN, and one NaN spoils the gradients of all layers
# before it. ``threshold_backward`` and ``masked_fill`` choose and do not multiply.

infinite = torch.full_like(x, torch.inf)
product = infinite * (x > 0)
print("product:           ", product)
print("threshold_backward:", torch.autograd.grad(ReLU.apply(x), x, infinite)[0])
print("F.relu:            ", torch.autograd.grad(F.relu(x), x, infinite)[0])

# %%
# What does not go wrong: a missing decorator
# -------------------------------------------
#
# Sometimes one meets a ``backward`` that has lost its ``@staticmethod``. You might expect an error.
# It runs, because PyTorch takes ``backward`` from the class and passes ``ctx`` itself. A function
# that is taken from a class is a plain function, with the decorator or without it.


class UndecoratedReLU(ReLU):
    def backward(ctx, grad_output):
        (output,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad_output, output, 0)


(grad_undecorated,) = torch.autograd.grad(UndecoratedReLU.apply(x).sum(), x)
print(grad_undecorated)

# %%
# Write the decorator all the same: PyTorch documents it, and it tells the reader that there is no
# ``self``. But when your backward is not called, the cause is another one.
#
# Proof
# -----
#
# Away from the kink the gradient is proved by finite differences, to the second order. At the kink,
# at NaN and at infinity there is nothing to differentiate. There we compare with ``F.relu``, for
# cotangents that are finite, infinite and NaN.

away = torch.tensor([-2.0, -0.5, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(relu, away)
assert torch.autograd.gradgradcheck(relu, away)

special = torch.tensor([torch.nan, -torch.inf, -1, -0.0, 0.0, 2, torch.inf], requires_grad=True)
for cotangent in (1.0, -torch.inf, torch.inf, torch.nan):
    grad_output = torch.full_like(special, cotangent)
    (ours,) = torch.autograd.grad(relu(special), special, grad_output)
    (theirs,) = torch.autograd.grad(F.relu(special), special, grad_output)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)
    print(ours)

# %%
# Where the input is NaN, the cotangent passes: a NaN in the forward is not hidden by a zero in the
# backward.
#
# Try it
# ------
#
# 1. In ``MaskedReLU``, change ``input < 0`` to ``input <= 0``. Predict the gradient of ``x``.
# 2. A layer starts with all weights at zero, so its outputs are all zero. Which of the two gives
#    its weights a gradient, ``relu`` or ``MaskedReLU``?
# 3. Predict the first and the second derivative of the square of ``relu(x)`` at -1, 0 and 2.
#
# Answers
# -------
#
# 1. It becomes 0, 0 and 1: with this mask, to save the input is as right as to save the output.


class RepairedReLU(MaskedReLU):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.masked_fill(input <= 0, 0)


print(torch.autograd.grad(RepairedReLU.apply(x).sum(), x)[0])

# %%
# 2. ``MaskedReLU`` does, ``relu`` and ``F.relu`` do not. Such a layer never starts to learn in
#    PyTorch. A program that was tried out with one of them behaves differently with the other.

weight = torch.zeros(2, 3, requires_grad=True)
features = torch.tensor([[1.0, 2.0, 3.0]])
for function in (relu, F.relu, MaskedReLU.apply):
    print(torch.autograd.grad(function(F.linear(features, weight)).sum(), weight)[0].tolist())

# %%
# 3. The first derivative is ``2 * relu(x)``, which is 0, 0 and 4. The second is 2 where the output
#    is positive, which is 0, 0 and 2.

(first,) = torch.autograd.grad((relu(x) ** 2).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
print(first.tolist(), second.tolist())

# %%
# The gradient at zero is 0 as you predicted, and the mask ``input < 0`` makes it 1.

assert grad_input.tolist() == [0, 0, 1]
assert grad_undecorated.tolist() == [0, 0, 1]
assert grad_masked.tolist() == [0, 1, 1]
assert at_kink == [0, 1, 0.5]
assert product.isnan().tolist() == [True, True, False]

# %%
# Next
# ----
#
# - :func:`backpass.functions.relu` and :class:`backpass.modules.ReLU` in the reference.
# - :ref:`sphx_glr_gallery_1_functions_plot_saving.py`: what it costs to save an input, an output or
#   a mask.
# - :ref:`sphx_glr_gallery_1_functions_plot_linear.py`: a Function with several inputs.
