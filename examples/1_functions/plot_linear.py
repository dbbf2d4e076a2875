r"""
A stray squeeze breaks a linear layer that has a single output
==============================================================

A linear map has three inputs, and each has a gradient of its own. One call of ``squeeze`` in the
gradient of the bias passes every check with two outputs and fails with one.

In short
--------

**Each gradient has the shape of its input, and each is computed only if it is needed.**
:func:`backpass.functions.linear` computes at most two matrix products and one sum in its backward.
Here are the three.
"""

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from backpass.functions import linear

torch.manual_seed(0)
input = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
weight = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
bias = torch.rand(2, dtype=torch.float64, requires_grad=True)
output = linear(input, weight, bias)
grad_output = torch.rand_like(output)
gradients = torch.autograd.grad(output, (input, weight, bias), grad_output)

by_hand = (grad_output @ weight, grad_output.mT @ input, grad_output.sum(0))
for gradient, expected in zip(gradients, by_hand, strict=True):
    torch.testing.assert_close(gradient, expected)

# %%
# A number to predict
# -------------------
#
# Give the layer 4 rows and a single output, and let all cotangents be 1. The bias is added to each
# of the 4 rows, so its gradient is the sum of 4 ones: **4**, in a tensor of shape ``(1,)``.
#
# And how many matrix products does the backward compute? It is **2** if the input and the weight
# need a gradient, **1** if the weight is frozen, and **0** if only the bias is trained.
#
# The formula
# -----------
#
# .. math::
#
#     Y = X W^\top + b \qquad
#     \bar{X} = \bar{Y} \, W \qquad
#     \bar{W} = \bar{Y}^\top X \qquad
#     \bar{b} = \sum_i \bar{Y}_i
#
# Here :math:`X` is ``input``, :math:`W` is ``weight``, :math:`b` is ``bias``, :math:`Y` is
# ``output``, and a bar marks the cotangent: :math:`\bar{Y}` is ``grad_output``. The index
# :math:`i` counts the rows.
#
# You need not remember the formulas. There are only two matrices at hand for each gradient,
# ``grad_output`` and the other factor, and only one product of them has the right shape.
#
# The picture
# -----------
#
# Each row of the figure is one formula. The number of columns of the left matrix is the number of
# rows of the right one, and the result no longer has it. In the product for the weight, the 4 rows
# of the batch vanish in this way: a weight does not know how many rows there were. A darker cell is
# a larger number.


def show(ax, name, matrix):
    rows, columns = matrix.shape
    ax.pcolormesh(matrix.detach(), cmap="Blues", vmin=0, vmax=2.2, edgecolors="0.4", linewidth=0.8)
    ax.set(xlim=(columns / 2 - 2.1, columns / 2 + 2.1), ylim=(rows / 2 + 2.1, rows / 2 - 2.1))
    ax.set_title(f"{name}\n{tuple(matrix.shape)}", fontsize=9)
    ax.set_aspect("equal")
    ax.set_axis_off()


figure, axes = plt.subplots(2, 3, figsize=(7, 4), layout="constrained")
show(axes[0, 0], "grad_output", grad_output)
show(axes[0, 1], "@ weight", weight)
show(axes[0, 2], "= grad_input", gradients[0])
show(axes[1, 0], "grad_output.mT", grad_output.mT)
show(axes[1, 1], "@ input", input)
show(axes[1, 2], "= grad_weight", gradients[1])

# %%
# What goes wrong: the stray squeeze
# ----------------------------------
#
# This is a widespread version of the Function. It keeps everything, handles an optional bias, and
# asks ``needs_input_grad`` before each gradient. Look at the last gradient.


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        return output if bias is None else output + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, _ = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0).squeeze(0)
        return grad_input, grad_weight, grad_bias


# %%
# With two outputs it passes both checks of PyTorch.


def arguments(out_features, rows=(4,)):
    shapes = ((*rows, 3), (out_features, 3), (out_features,))
    return tuple(torch.rand(s, dtype=torch.float64, requires_grad=True) for s in shapes)


print("gradcheck:    ", torch.autograd.gradcheck(LinearFunction.apply, arguments(2)))
print("gradgradcheck:", torch.autograd.gradgradcheck(LinearFunction.apply, arguments(2)))

# %%
# With a single output, which is how a regression or a binary classifier ends, the first backward
# raises.

try:
    LinearFunction.apply(*arguments(1)).sum().backward()
except RuntimeError as error:
    message = str(error)
    print(message)

# %%
# Index 2 is the bias, ``[1]`` is its shape, and ``[]`` is the shape of a single number. Here is
# what happened. ``sum(0)`` adds the rows and has the shape ``(out_features,)`` already.
# ``squeeze(0)`` removes dimension 0 if its length is 1, and does nothing otherwise. So it waits for
# the one layer where the length is 1.

for out_features in (2, 1):
    total = torch.ones(4, out_features).sum(0)
    print(tuple(total.shape), "->", tuple(total.squeeze(0).shape))

# %%
# A check proves a Function for the shapes that it was given. Give it a 1 in each dimension, too.
#
# What goes wrong: more than two dimensions
# -----------------------------------------
#
# ``mm`` takes matrices only. A batch of sequences has three dimensions.

try:
    LinearFunction.apply(*arguments(2, rows=(5, 4)))
except RuntimeError as error:
    print(error)

# %%
# The repair
# ----------
#
# All leading dimensions are rows. The product with the weight works on the last dimension and needs
# no change but ``@``. The two sums over the rows see them as one long matrix.


class Linear(LinearFunction):
    @staticmethod
    def forward(input, weight, bias):
        output = input @ weight.mT
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, _ = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.flatten(0, -2).mT @ input.flatten(0, -2)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.flatten(0, -2).sum(0)
        return grad_input, grad_weight, grad_bias


input, weight, bias = arguments(1)
output = Linear.apply(input, weight, bias)
(grad_bias,) = torch.autograd.grad(output, bias, torch.ones_like(output))
print(grad_bias)

# %%
# Products are counted, not guessed
# ---------------------------------
#
# ``ctx.needs_input_grad`` holds one truth value for each argument of ``forward``. It is the place
# to save work: a frozen weight costs no product. PyTorch can count the operations of matrix
# products, and one product here takes ``2 * 4 * 3`` of them.


def products(function, *requires_grad):
    tensors = [tensor.detach() for tensor in arguments(1)]
    for tensor, flag in zip(tensors, requires_grad, strict=True):
        tensor.requires_grad_(flag)
    output = function(*tensors)
    with FlopCounterMode(display=False) as counter:
        output.sum().backward()
    return counter.get_total_flops() // (2 * 4 * 3)


counts = []
for flags in ((True, True, True), (True, False, True), (False, False, True)):
    counts.append(products(Linear.apply, *flags))
    print(flags, counts[-1], "library:", products(linear, *flags))

# %%
# The library uses the same knowledge already in ``setup_context``: the input is saved only if the
# weight needs a gradient, and the weight only if the input does. The Function above keeps all
# three. The bias is not needed by any gradient.

frozen = linear(input, weight.detach(), bias).grad_fn.saved_tensors
print([None if tensor is None else tuple(tensor.shape) for tensor in frozen])
all_kept = Linear.apply(input, weight.detach(), bias).grad_fn.saved_tensors
print([tuple(tensor.shape) for tensor in all_kept])

# %%
# Proof
# -----
#
# The shapes include a single output, a single row, no row and three dimensions. The comparison with
# ``F.linear`` covers the bias that is absent.

for out_features in (1, 2):
    for rows in ((4,), (1,), (0,), (2, 4)):
        for function in (Linear.apply, linear):
            assert torch.autograd.gradcheck(function, arguments(out_features, rows))
            assert torch.autograd.gradgradcheck(function, arguments(out_features, rows))

input, weight, _ = arguments(1, rows=(2, 4))
for function in (Linear.apply, linear):
    ours = torch.autograd.grad(function(input, weight, None).sum(), (input, weight))
    theirs = torch.autograd.grad(F.linear(input, weight).sum(), (input, weight))
    torch.testing.assert_close(ours, theirs)

# %%
# Try it
# ------
#
# 1. Return ``grad_output`` itself as the gradient of the bias, without any sum. Predict what
#    happens.
# 2. All three tensors require a gradient, but you ask ``torch.autograd.grad`` for that of the input
#    alone. How many products does the backward compute?
# 3. Pass a weight of shape ``(2, 4)`` with an input of 3 features. What does the library say?
#
# Answers
# -------
#
# 1. It works. The bias was broadcast over the rows, and the engine sums a gradient that is too
#    large to the shape of its input. It never adds a dimension that is missing, which is why the
#    stray squeeze was an error.


class Unsummed(Linear):
    @staticmethod
    def backward(ctx, grad_output):
        return *Linear.backward(ctx, grad_output)[:2], grad_output


assert torch.autograd.gradcheck(Unsummed.apply, arguments(1))
leaves = arguments(1)
print(torch.autograd.grad(Unsummed.apply(*leaves).sum(), leaves[2]))

# %%
# 2. It computes 2. ``needs_input_grad`` says which inputs require a gradient, not which you asked
#    for. ``F.linear`` computes 1, because its backward is part of the engine and is told.

for function in (linear, F.linear):
    leaves = arguments(1)
    output = function(*leaves)
    with FlopCounterMode(display=False) as counter:
        torch.autograd.grad(output.sum(), leaves[0])
    print(function.__name__, counter.get_total_flops() // (2 * 4 * 3))

# %%
# 3. It names the argument, the shape that fits, and the shape that came.

try:
    linear(torch.rand(4, 3), torch.rand(2, 4))
except ValueError as error:
    print(error)

# %%
# The gradient of the bias is 4, in the shape of the bias, and the products are 2, 1 and 0, as you
# predicted.

assert grad_bias.tolist() == [4]
assert counts == [2, 1, 0]
assert "at index 2 - got [] but expected shape compatible with [1]" in message

# %%
# Next
# ----
#
# - :func:`backpass.functions.linear` and :class:`backpass.modules.Linear` in the reference.
# - :ref:`sphx_glr_gallery_1_functions_plot_saving.py`: what to save, and how.
# - :ref:`guide-writing-a-function`: the steps from a formula to a Function.
