r"""
A Gram matrix needs one product in its backward, autograd runs two
==================================================================

A hand-written backward pays where you know something that autograd does not. Here it is that both
factors of a product are the same tensor. This page counts the matrix products.

In short
--------

**Add the cotangent to its transpose first, and multiply once.** Autograd multiplies twice and adds
the results. :func:`backpass.functions.gram_matrix` is this Function for a batch of feature maps,
with a factor ``scale``.
"""

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from backpass.functions import gram_matrix


class GramMatrix(Function):
    @staticmethod
    def forward(input):
        return input @ input.mT

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return (grad_output + grad_output.mT) @ input


# %%
# A number to predict
# -------------------
#
# ``F`` holds two channels, one in each row, of two pixels. The entry ``G[0, 1]`` of its Gram matrix
# is the inner product of the two rows: 1 times 3 plus 2 times 4 is **11**. Its gradient with
# respect to the first row is the second row, and the other way round: **3, 4** and **1, 2**.

F = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
G = GramMatrix.apply(F)
(grad_input,) = torch.autograd.grad(G[0, 1], F)
print(G[0, 1].item())
print(grad_input)

# %%
# How many matrix products does the backward take? Autograd sees two factors and computes a gradient
# for each: **2** products. The Function needs **1**. To check it we write down the name of every
# operation that PyTorch runs. The underscore in ``torch.utils._python_dispatch`` says that this
# tool may change.


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))

    @property
    def products(self):
        return sum(name in ("mm", "bmm", "baddbmm") for name in self.names)


def by_autograd(input):
    return input @ input.mT


grad_output = torch.ones(2, 2, dtype=torch.float64)
for gram in (by_autograd, GramMatrix.apply):
    G = gram(F)
    with Operations() as operations:
        torch.autograd.grad(G, F, grad_output)
    print(operations.products, operations.names)

# %%
# ``mm`` is a matrix product. ``t`` and ``transpose`` move no number. With the
# product of the forward, autograd takes three products and the Function takes two.
#
# The formula
# -----------
#
# .. math::
#
#     G = F F^\top \qquad
#     \bar{F} = \bar{G} F + \bar{G}^\top F = (\bar{G} + \bar{G}^\top) F
#
# :math:`F` is ``input`` with one row for each channel, and :math:`\bar{G}` is ``grad_output``. The
# sum of two products is what autograd computes. The last form is the same number, and it is the
# line in ``GramMatrix.backward``: a sum of two small matrices, channels by channels, takes the
# place of a product with all pixels.
#
# The double backward gains as well. It differentiates each product of the backward with two new
# ones, one for each factor. And if the loss is not linear in :math:`G`, it runs the backward of the
# forward once more. For autograd that is :math:`2 \cdot 2 + 2 = 6` products, for the Function
# :math:`2 \cdot 1 + 1 = 3`.


def count_products(gram):
    with Operations() as forward:
        loss = gram(F).square().sum()
    with Operations() as backward:
        (grad_input,) = torch.autograd.grad(loss, F, create_graph=True)
    with Operations() as double_backward:
        torch.autograd.grad(grad_input.sum(), F)
    return [forward.products, backward.products, double_backward.products]


def by_library(input):
    return gram_matrix(input[None])[0]


counts = {
    "input @ input.mT": count_products(by_autograd),
    "GramMatrix.apply": count_products(GramMatrix.apply),
    "gram_matrix": count_products(by_library),
}
print(counts)

# %%
# The picture
# -----------
#
# Here is a Gram matrix that you can check by eye. The 16 channels of ``waves`` are the same wave,
# each shifted a little further. Channel 8 is shifted by half a wave, so it is the negative of
# channel 0.

side, C = 32, 16
P = side * side
row, column = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
phase = 2 * torch.pi * torch.arange(C) / C
waves = torch.cos(2 * torch.pi * (row + column) / side - phase.view(C, 1, 1))
G = gram_matrix(waves[None], scale=1 / P)[0]

# %%
# Look at one row of ``G``. Channels that respond together give a positive number, which is red.
# Channels that are a quarter of a wave apart give 0, and opposite channels give a negative number,
# which is blue. The closed form of an entry is half the cosine of the difference in phase. On the
# right are the counts.

assert torch.allclose(G, torch.cos(phase[:, None] - phase) / 2, atol=1e-6)

figure, axes = plt.subplots(
    1, 4, figsize=(7, 2.5), layout="constrained", width_ratios=[1, 1, 1, 1.9]
)
for ax, title, image in (
    (axes[0], "waves[0]", waves[0]),
    (axes[1], "waves[8]", waves[8]),
    (axes[2], "G", G),
):
    ax.imshow(image.numpy(), cmap="coolwarm")
    ax.set_title(title)
    ax.axis("off")
stages = ["forward", "backward", "double_backward"]
for i, name in enumerate(("input @ input.mT", "GramMatrix.apply")):
    places = [stage + 0.4 * i - 0.2 for stage in range(len(stages))]
    bars = axes[3].bar(places, counts[name], width=0.4, label=name)
    axes[3].bar_label(bars)
axes[3].set_xticks(range(len(stages)), stages, fontsize=7)
axes[3].set(title="products", ylim=(0, 9.5), yticks=[])
axes[3].legend(fontsize=7, loc="upper left")

# %%
# What goes wrong: half of the formula
# ------------------------------------
#
# The Gram matrix is symmetric, so its cotangent seems to be symmetric too, and ``2 * grad_output``
# is shorter. For a style loss this is right, because its cotangent is symmetric whenever its target
# is. But a loss may look at one entry only. For ``G[0, 1]`` the first row gets 6, 8 in place of
# 3, 4, and the second row gets nothing.


class HalfGramMatrix(GramMatrix):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return 2 * grad_output @ input


for loss in (lambda G: G.square().sum(), lambda G: G[0, 1]):
    (right,) = torch.autograd.grad(loss(GramMatrix.apply(F)), F)
    (wrong,) = torch.autograd.grad(loss(HalfGramMatrix.apply(F)), F)
    print(torch.equal(right, wrong), wrong.tolist())

# %%
# :func:`torch.autograd.gradcheck` tries each entry of the cotangent by itself, and finds it. Here
# is the first line of what it says.

try:
    torch.autograd.gradcheck(HalfGramMatrix.apply, F)
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# What goes wrong: half precision overflows
# -----------------------------------------
#
# A raw Gram matrix is a sum over the pixels. A map of 256 by 256 pixels that are all 1 gives 65536.
# The largest number of ``float16`` is 65504, so the result is infinite. To divide it afterwards is
# too late.

features = torch.ones(1, 2, 256, 256, dtype=torch.float16, requires_grad=True)
raw = gram_matrix(features)
print(torch.finfo(torch.float16).max)
print(raw / features.numel())

# %%
# With ``scale`` the library multiplies inside the product, before the result is rounded to half
# precision. Divided by the 2 times 65536 elements of ``features``, each entry is **0.5**. The
# gradient is finite too, because the backward has the same factor inside.

scaled = gram_matrix(features, scale=1 / features.numel())
print(scaled)

(grad_features,) = torch.autograd.grad(scaled.sum(), features)
print(grad_features.isfinite().all().item(), grad_features.unique().item())

# %%
# Proof
# -----
#
# Finite differences agree with the first and the second derivative, for a cotangent that is not
# symmetric. Autograd, which takes the long way, agrees too.

torch.manual_seed(0)
features = torch.rand(3, 5, dtype=torch.float64, requires_grad=True)
cotangent = torch.rand(3, 3, dtype=torch.float64)
(long_way,) = torch.autograd.grad(by_autograd(features), features, cotangent)
for gram in (GramMatrix.apply, by_library):
    assert torch.autograd.gradcheck(gram, features)
    assert torch.autograd.gradgradcheck(gram, features)
    (short_way,) = torch.autograd.grad(gram(features), features, cotangent)
    torch.testing.assert_close(short_way, long_way)

# %%
# Another counter of PyTorch agrees with ours. It counts the multiplications and additions inside
# the products. One product of 3 by 5 and 5 by 3 takes ``2 * 3 * 3 * 5`` of them. Forward and
# backward together are 3 products for autograd and 2 for the others.

for gram in (by_autograd, GramMatrix.apply, by_library):
    with FlopCounterMode(display=False) as counter:
        gram(features).sum().backward()
    print(counter.get_total_flops() / (2 * 3 * 3 * 5))

# %%
# Try it
# ------
#
# 1. Change ``G[0, 1]`` to ``G[0, 0]`` at the top of the page. Predict the gradient.
# 2. Someone saves the second product with ``input @ input.detach().mT``. Predict the gradient of
#    ``G[0, 1]``.
# 3. Take ``float16`` maps of 128 by 128 pixels. Is the raw Gram matrix finite if all pixels are 1?
#    And if all are 2?
#
# Answers
# -------
#
# 1. ``G[0, 0]`` is the squared length of the first row. Its gradient is twice that row, 2 and 4,
#    and the second row gets 0.

print(torch.autograd.grad(GramMatrix.apply(F)[0, 0], F)[0])

# %%
# 2. The first row gets 3 and 4 as before, but the second row gets 0: the factor that was detached
#    is a constant. There is one product less, and also one half of the gradient.

print(torch.autograd.grad((F @ F.detach().mT)[0, 1], F)[0])

# %%
# 3. For pixels of 1 it is: the sum is 16384. For pixels of 2 each of the 16384 terms is 4, the sum
#    is 65536 again, and the matrix is infinite.

for value in (1.0, 2.0):
    print(gram_matrix(torch.full((1, 1, 128, 128), value, dtype=torch.float16)).item())

# %%
# The gradient of ``G[0, 1]`` is 3, 4 and 1, 2 as you predicted. The backward takes 2 products with
# autograd and 1 with the Function, the double backward 6 and 3. In half precision the raw matrix is
# infinite, and the scaled one is 0.5.

assert grad_input.tolist() == [[3, 4], [1, 2]]
assert counts["input @ input.mT"] == [1, 2, 6]
assert counts["GramMatrix.apply"] == counts["gram_matrix"] == [1, 1, 3]
assert raw.isinf().all()
assert scaled.eq(0.5).all()

# %%
# Next
# ----
#
# - :func:`backpass.functions.gram_matrix` in the reference.
# - :ref:`performance-gram-matrix`: what one product less is worth, measured.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_loss.py`: what the Gram matrix is used for.
# - :ref:`sphx_glr_gallery_1_functions_plot_gram_mse.py`: a loss that keeps a difference of Gram
#   matrices for the backward, and what that does to a second derivative.
# - :ref:`guide-writing-a-function`: the steps from a formula to a Function.
