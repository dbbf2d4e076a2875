r"""
A backward called by hand fills no gradient and runs no hook
============================================================

A custom Function can be run backward in three ways: ``backward``, ``torch.autograd.grad`` and
``grad_fn.apply``. Only the first fills ``.grad``, and the last does not use the engine at all.

In short
--------

**Run a Function backward through its output, not through its node.** Forward, you call ``apply``.
Backward, the engine walks the graph: it runs the hooks, calls the backward of each node, and adds
the result to the ``.grad`` of the leaves.
"""

import warnings
from collections import Counter

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function

from backpass.graph import draw

calls = Counter()


class Power(Function):
    @staticmethod
    def forward(input, exponent):
        return input**exponent

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, ctx.exponent = inputs
        ctx.save_for_backward(input)

    @staticmethod
    def backward(ctx, grad_output):
        calls["Power.backward"] += 1  # only for the counts on this page
        (input,) = ctx.saved_tensors
        return ctx.exponent * input ** (ctx.exponent - 1) * grad_output, None


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
g = torch.tensor([1.0, 10.0, 100.0])
y = Power.apply(x, 2)
y.backward(g)
print(x.grad)

# %%
# ``backward`` returns one value for each argument of ``forward``. The exponent is a Python number,
# so its place holds ``None``.
#
# A number to predict
# -------------------
#
# Now we run all three ways, each on a fresh ``y`` and with the same cotangent ``g``. A hook on
# ``y`` and a hook on ``x`` count when a gradient comes past.
#
# Each way needs the formula once, so ``Power.backward`` runs **3** times. The hooks belong to the
# engine, and ``grad_fn.apply`` does not use it: each hook runs **2** times. Only ``backward`` adds
# to ``x.grad``, so it is filled **1** time: its elements sum to 2 + 40 + 600 = **642**, not to
# three times as much.

ways = {
    "y.backward(g)": lambda: y.backward(g),
    "torch.autograd.grad(y, x, g)": lambda: torch.autograd.grad(y, x, g),
    "y.grad_fn.apply(g)": lambda: y.grad_fn.apply(g),
}
x.register_hook(lambda grad: calls.update(["x.register_hook"]))
counts, total = {}, 0

for name, run in ways.items():
    y = Power.apply(x, 2)
    y.register_hook(lambda grad: calls.update(["y.register_hook"]))
    x.grad = None
    calls.clear()
    print(name, "->", run())
    if x.grad is not None:
        calls["x.grad"] += 1
        total += x.grad.sum().item()
    counts[name] = calls.copy()

print(total)

# %%
# All three compute the same gradient. ``backward`` returns nothing, because it stores the gradient.
# ``torch.autograd.grad`` returns it and stores nothing. ``grad_fn.apply`` returns what
# ``Power.backward`` returned, with the ``None`` of the exponent.
#
# The formula
# -----------
#
# .. math::
#
#     y = x^n \qquad \bar{x} = n \, x^{n-1} \odot \bar{y}
#
# :math:`\bar{y}` is ``grad_output``, which is ``g`` here. For :math:`n = 2` and :math:`x = 1, 2, 3`
# the derivative is 2, 4, 6. Multiplied by 1, 10, 100 it is 2, 40, 600.
#
# The picture
# -----------
#
# Each row is one way, and each column says how often something happened. Only the first row has no
# zero.

columns = ["Power.backward", "y.register_hook", "x.register_hook", "x.grad"]
table = [[counts[name][column] for column in columns] for name in ways]

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
ax.imshow(table, cmap="Blues", vmin=0, vmax=2, aspect="auto")
for i, row in enumerate(table):
    for j, count in enumerate(row):
        ax.text(j, i, count, ha="center", va="center", fontsize=13)
ax.set_xticks(range(len(columns)), columns)
ax.set_yticks(range(len(ways)), ways)
ax.set_title("counts[name][column]")

# %%
# Where does ``.grad`` come from? Look at the graph of a small loss. Many texts draw tensors as the
# nodes and functions as the edges. What PyTorch records is the other way round: **the nodes are
# Functions, and the edges are their** ``next_functions``. Tensors are what flows along the edges.

y = Power.apply(x, 2)
loss = (2 * y).sum()
draw(loss)

# %%
# The engine starts at ``loss.grad_fn`` with the gradient 1 and follows the edges. ``Power`` is here
# as ``PowerBackward``, with a double outline. After it comes ``AccumulateGrad``, a node of its own:
# it adds to ``x.grad``. So ``PowerBackward`` alone cannot fill it.

node = loss.grad_fn
while True:
    print(node.name())
    if not node.next_functions:
        break
    node = node.next_functions[0][0]

print(node.variable is x)

# %%
# What goes wrong: an output with several elements
# ------------------------------------------------
#
# Articles on custom Functions often end with ``y.backward()``, without an argument. That works for
# an output of one element only, where the start is obvious: it is the gradient 1.

try:
    y.backward()
except RuntimeError as error:
    print(error)

# %%
# For three elements you must say what the start is. Either give a cotangent, or make a scalar
# first. To sum the elements is the same as to give a cotangent of ones.

(given,) = torch.autograd.grad(Power.apply(x, 2), x, torch.ones(3))
(summed,) = torch.autograd.grad(Power.apply(x, 2).sum(), x)
print(given, torch.equal(given, summed))

# %%
# What goes wrong: reading ``.grad`` of a tensor in the middle
# ------------------------------------------------------------
#
# ``AccumulateGrad`` belongs to leaves, the tensors that no operation has made. ``y`` is not a leaf.
# Its gradient comes past and is not kept. PyTorch warns when you read it. Here you see the first
# sentence of the warning.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    loss.backward(retain_graph=True)
    print(x.is_leaf, y.is_leaf, y.grad)
print(str(caught[0].message).partition(". ")[0])

# %%
# Ask for it before the backward, and it is kept. The derivative of ``loss`` with respect to each
# element of ``y`` is 2.

y.retain_grad()
loss.backward()
print(y.grad)

# %%
# What goes wrong: ``grad_fn.apply`` checks nothing
# -------------------------------------------------
#
# The same articles offer ``grad_fn.apply`` as one more way to run the backward. It is the plain
# call of one static method. Give it a cotangent of the wrong shape: the engine raises an error. By
# hand, it is broadcast silently, and three numbers come out where one went in.

y = Power.apply(x, 2)
try:
    y.backward(g[:1])
except RuntimeError as error:
    print(error)
by_hand, _ = y.grad_fn.apply(g[:1])
print(by_hand)

# %%
# There is a second difference. The engine switches recording off unless you pass
# ``create_graph=True``. A call by hand is recorded like any other code, so its result has a graph
# and keeps it in memory.

(by_engine,) = torch.autograd.grad(y, x, g)
print(by_engine.requires_grad, by_hand.requires_grad)

# %%
# Last, ``apply`` exists on the nodes of custom Functions only.

try:
    loss.grad_fn.apply(torch.tensor(1.0))
except AttributeError as error:
    print(error)

# %%
# So ``grad_fn.apply`` is good for one thing: to try the formula of a single node while you debug.
#
# Proof
# -----
#
# The formula is right, and so is its derivative: :func:`torch.autograd.gradcheck` and
# ``gradgradcheck`` compare them with finite differences, through the engine.

z = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Power.apply, (z, 3))
assert torch.autograd.gradgradcheck(Power.apply, (z, 3))

# %%
# Try it
# ------
#
# 1. Change ``g`` to ``torch.tensor([1.0, 0.0, 0.0])``. Predict ``x.grad``.
# 2. Call ``y.backward(g, retain_graph=True)`` and then ``y.backward(g)``. Predict ``x.grad``.
# 3. Walk back from ``loss`` to ``x.grad`` by hand, node by node.
#
# Answers
# -------
#
# 1. Only the first element counts: 2, 0, 0. A cotangent chooses which outputs matter, and how much.

x.grad = None
Power.apply(x, 2).backward(torch.tensor([1.0, 0.0, 0.0]))
print(x.grad)

# %%
# 2. Each backward adds. It is twice the gradient: 4, 80, 1200. This is why a training loop calls
#    ``zero_grad``.

x.grad = None
y = Power.apply(x, 2)
y.backward(g, retain_graph=True)
y.backward(g)
print(x.grad)

# %%
# 3. A node that PyTorch wrote is called directly, a node of a custom Function through ``apply``. The
#    last node is ``AccumulateGrad``, and it fills ``x.grad``: 2 times 2, 4, 6. The hook on ``x``
#    still does not run.

x.grad = None
loss = (2 * Power.apply(x, 2)).sum()
calls.clear()
sum_node = loss.grad_fn
mul_node = sum_node.next_functions[0][0]
power_node = mul_node.next_functions[0][0]
accumulate_node = power_node.next_functions[0][0]
with torch.no_grad():
    grad = sum_node(torch.tensor(1.0))
    grad, _ = mul_node(grad)
    grad, _ = power_node.apply(grad)
    accumulate_node(grad)
print(x.grad, dict(calls))

# %%
# ``Power.backward`` ran 3 times, the hooks 2 times, and ``x.grad`` was filled once, with a sum of
# 642, as you predicted.

assert [sum(column) for column in zip(*table, strict=True)] == [3, 2, 2, 1]
assert total == 642

# %%
# Next
# ----
#
# - :ref:`guide-mental-model`: the graph, its nodes and its leaves in words.
# - :func:`backpass.graph.draw` in the reference: it can also list what each node saves.
# - :ref:`sphx_glr_gallery_1_functions_plot_module_or_function.py`: who calls which ``backward``.
