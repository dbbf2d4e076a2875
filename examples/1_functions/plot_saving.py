r"""
A tensor kept on the context escapes the checks of PyTorch
==========================================================

A backward needs tensors from the forward. PyTorch watches those that are given to
``save_for_backward``. A tensor in an attribute of ``ctx`` is not watched: a gradient can become
wrong and memory can be lost, without an error.

In short
--------

**Give every tensor to** ``save_for_backward``, **and keep only numbers as attributes of** ``ctx``.
"""

import gc
import weakref

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from backpass.functions import relu


class Exp(Function):
    @staticmethod
    def forward(input):
        return input.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (output,) = ctx.saved_tensors
        return grad_output * output


# %%
# A number to predict
# -------------------
#
# We take the exponential of 0, which is 1, and double the result in place. The derivative of
# ``2 * exp(x)`` at 0 is **2**. Below is the same Function with the output in an attribute of
# ``ctx``. Its answer will be **4**. Can you say why?
#
# The formula
# -----------
#
# .. math::
#
#     y = e^x \qquad \bar{x} = \bar{y} \odot y
#
# Here :math:`x` is ``input``, :math:`y` is ``output`` and :math:`\bar{y}` is ``grad_output``. The
# backward uses the output as it was at the end of the forward. So somebody has to keep it, and has
# to make sure that it has not changed.
#
# What goes wrong: the gradient of an edited tensor
# -------------------------------------------------


class ExpOnContext(Exp):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.output = output

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.output


def gradient_after_edit(function):
    x = torch.zeros(1, requires_grad=True)
    y = function(x)
    y.mul_(2)
    y.backward()
    return x.grad.item()


wrong = gradient_after_edit(ExpOnContext.apply)
print(wrong)

# %%
# The attribute and the result are the same tensor. ``mul_`` has changed it from 1 to 2, so the
# backward multiplies by 2 where it should multiply by 1. Doubling adds another factor of 2, and
# the answer is 4.
#
# Each tensor has a version, a number that grows with each edit in place. ``save_for_backward``
# notes it down, and ``saved_tensors`` compares. The wrong number becomes an error:

try:
    gradient_after_edit(Exp.apply)
except RuntimeError as error:
    message = str(error)
    print(message)

# %%
# The repair is in the code that edits: write ``y = y * 2``.
#
# What goes wrong: an invented name
# ---------------------------------
#
# Some code assigns to ``ctx.saved_for_backward``. There is no such thing. It is one more attribute,
# which happens to sound official, and ``saved_tensors`` knows nothing about it.


class ExpInvented(Exp):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.saved_for_backward = [output]


x = torch.zeros(1, requires_grad=True)
y = ExpInvented.apply(x)
print(y.grad_fn.saved_tensors)
try:
    y.backward()
except ValueError as error:
    print(error)

# %%
# This is the lucky case. If the backward reads ``ctx.saved_for_backward`` too, there is no error,
# and all that this page says about attributes is true of it.
#
# What goes wrong: a leak
# -----------------------
#
# ``ctx`` is the node of the graph: the same object as ``grad_fn`` of the output. If it keeps the
# output, the output and its node keep each other alive. Nothing else refers to them, but their
# counts of references never reach zero.

y = ExpOnContext.apply(x)
print(y.grad_fn.output is y)

# %%
# A weak reference shows whether an object is still alive. We run 8 steps, each with a forward and a
# backward, and delete the output at the end of each step. Python also has a garbage collector,
# which finds such cycles. It starts by itself after a number of new objects, however large they
# are. Here we stop it, and call it by hand after the last step.


def alive_after_each_step(function, steps=8):
    references = []

    def alive():
        return sum(reference() is not None for reference in references)

    gc.collect()
    gc.disable()
    counts = []
    for _ in range(steps):
        output = function(x)
        references.append(weakref.ref(output))
        output.backward()
        del output
        counts.append(alive())
    gc.collect()
    gc.enable()
    return [*counts, alive()]


leak = alive_after_each_step(ExpOnContext.apply)
no_leak = alive_after_each_step(Exp.apply)
print("ctx.output = output:      ", leak)
print("save_for_backward(output):", no_leak)

# %%
# The picture
# -----------
#
# With the attribute, all outputs are in memory together until the collector comes. With
# ``save_for_backward`` each output is gone when it is deleted: PyTorch stores an output without its
# link back to the node, and makes no cycle.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
steps = range(1, len(leak) + 1)
ax.plot(steps, leak, "o-", color="C3", label="ctx.output = output")
ax.plot(steps, no_leak, "o-", color="C0", label="ctx.save_for_backward(output)")
ax.set_xticks(steps, [*map(str, steps[:-1]), "gc.collect()"])
ax.set(title="sum(reference() is not None)", xlabel="step")
ax.legend(loc="upper left")

# %%
# What goes wrong: hooks see nothing
# ----------------------------------
#
# ``saved_tensors_hooks`` lets you handle each saved tensor yourself: move it to the CPU, compress
# it, or throw it away and compute it again. ``save_on_cpu`` and checkpointing work through these
# hooks. They are called by ``save_for_backward``, and an attribute goes past them.


def packed(function):
    tensors = []

    def pack(tensor):
        tensors.append(tensor.detach())
        return tensors[-1]

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        function()
    return tensors


packs = [len(packed(lambda f=f: f(x))) for f in (Exp.apply, ExpOnContext.apply)]
print(packs)

# %%
# No check of the mathematics sees any of this. The formula is right in both, and
# :func:`torch.autograd.gradcheck` and ``gradgradcheck`` accept both.

points = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
for function in (Exp.apply, ExpOnContext.apply):
    print("gradcheck:    ", torch.autograd.gradcheck(function, points))
    print("gradgradcheck:", torch.autograd.gradgradcheck(function, points))

# %%
# What to save: the input, the output or a mask
# ---------------------------------------------
#
# Once a tensor is saved properly, it may even cost nothing. Take a ReLU. Its backward can work with
# the input, with the output, or with a mask that says where the gradient is blocked. A ``float32``
# takes 4 bytes and a ``bool`` takes 1, so the mask looks best.
#
# Here is the ReLU with a mask. The mask is a second output of ``forward``, because
# ``setup_context`` is no place to compute. It is marked as not differentiable, and its gradient is
# ignored.


class MaskReLU(Function):
    @staticmethod
    def forward(input):
        return input.clamp(min=0), input <= 0

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, mask = output
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)

    @staticmethod
    def backward(ctx, grad_output, _):
        (mask,) = ctx.saved_tensors
        return grad_output.masked_fill(mask, 0)


def mask_relu(input):
    output, _ = MaskReLU.apply(input)
    return output


assert torch.autograd.gradcheck(mask_relu, torch.tensor([-1.0, 2.0]).double().requires_grad_())

# %%
# The third one saves its input.


class InputReLU(Function):
    @staticmethod
    def forward(input):
        return input.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.masked_fill(input <= 0, 0)


# %%
# But a layer is not alone. Count what the ReLU and the layer after it keep **together**. We try two
# next layers: ``square`` saves its input, as linear layers and convolutions do, and ``sum`` saves
# nothing. The input of the ReLU comes from a layer before, which does not keep it.
#
# Predict the bytes per element for ``square``. The output of the ReLU is the input of the square,
# the same memory, and counts once: **4**. The mask comes on top of it: **5**.


def bytes_per_element(activation, next_layer, dtype=torch.float32):
    leaf = torch.linspace(-1, 1, 1000, dtype=dtype, requires_grad=True)
    tensors = packed(lambda: next_layer(activation(2 * leaf)))
    storages = {tensor.data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(storages.values()) / leaf.numel()


activations = {"input": InputReLU.apply, "output": relu, "mask": mask_relu}
costs = {
    name: [bytes_per_element(activation, layer) for layer in (torch.square, torch.sum)]
    for name, activation in activations.items()
}
for name, (square, total) in costs.items():
    print(f"{name:6} square: {square:g}  sum: {total:g}")

# %%
# Before a layer that saves its input, the output is the cheapest choice and the mask costs one byte
# per element **extra**. Before a layer that saves nothing, the mask is the cheapest. The first case
# is the usual one, because a ReLU mostly stands before a linear layer or a convolution. So
# :func:`backpass.functions.relu` and ``F.relu`` save the output.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for i, name in enumerate(costs):
    bars = ax.bar([i - 0.2, i + 3.8], costs[name], width=0.8, label=f"save_for_backward({name})")
    ax.bar_label(bars, fmt="%g")
ax.set_xticks([0.8, 4.8], ["square(relu(x))", "sum(relu(x))"])
ax.set(title="bytes_per_element", ylim=(0, 9.5))
ax.legend()

# %%
# Try it
# ------
#
# 1. Call ``backward`` twice on the same output, for ``Exp`` and for ``ExpOnContext``. Predict what
#    each does.
# 2. Write the square of ``x`` with its **input** in an attribute of ``ctx``. Which of the three
#    faults remain: the wrong gradient, the leak, the blind hooks?
# 3. Change ``float32`` to ``float16``. Predict the bytes per element of ``output`` and ``mask``.
#
# Answers
# -------
#
# 1. ``Exp`` refuses, because the first backward has freed the saved tensors. ``ExpOnContext`` frees
#    nothing and runs again: an attribute stays in memory as long as the graph does. Only the first
#    sentence of the message is printed.

for function in (Exp.apply, ExpOnContext.apply):
    y = function(x)
    y.backward()
    try:
        y.backward()
        print("no error")
    except RuntimeError as error:
        print(str(error).split(". ")[0])

# %%
# 2. The input does not lead back to the node, so there is no cycle and no leak. The other two
#    faults remain. We change 3 to 5 after the forward: the gradient should be 6, and is 10.


class SquareOnContext(Function):
    @staticmethod
    def forward(input):
        return input.square()

    @staticmethod
    def setup_context(ctx, inputs, output):
        (ctx.input,) = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.input * grad_output


three = torch.tensor(3.0, requires_grad=True)
y = SquareOnContext.apply(three)
with torch.no_grad():
    three.fill_(5)
print("gradient:", torch.autograd.grad(y, three)[0].item())
print("alive:", alive_after_each_step(SquareOnContext.apply))
print("packed:", len(packed(lambda: SquareOnContext.apply(three))))

# %%
# 3. A ``float16`` takes 2 bytes and the mask still takes 1: before ``square`` it is 2 against 3.

for name in ("output", "mask"):
    print(name, bytes_per_element(activations[name], torch.square, torch.float16))

# %%
# The attribute made 4 out of 2, ``save_for_backward`` refused, and the output costs 4 bytes where
# the mask costs 5, as you predicted.

assert wrong == 4
assert "modified by an inplace operation" in message
assert leak == [1, 2, 3, 4, 5, 6, 7, 8, 0]
assert no_leak == [0] * 9
assert packs == [1, 0]
assert costs == {"input": [8, 4], "output": [4, 4], "mask": [5, 1]}
assert bytes_per_element(F.relu, torch.square) == costs["output"][0]

# %%
# Next
# ----
#
# - :ref:`sphx_glr_gallery_1_functions_plot_relu.py`: the ReLU of the library, and its kink.
# - :ref:`sphx_glr_gallery_2_losses_plot_recording_layers.py`: a loss that keeps its graph alive.
# - :ref:`guide-writing-a-function`: the steps from a formula to a Function.
