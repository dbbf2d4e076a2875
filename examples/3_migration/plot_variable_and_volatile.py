r"""
Variable does little, volatile only warns, and two old words raise
==================================================================

``Variable``, ``volatile``, ``data[0]`` and ``retain_variables`` mark code from before PyTorch 0.4.
Two of them raise an error today. The two that run are the ones to look at.

In short
--------

**Drop Variable, turn volatile into no_grad, and ask a loss for its item.** Each line has its old
form beside it.
"""

import warnings
import weakref

import matplotlib.pyplot as plt
import torch
from torch.autograd import Variable

weight = torch.tensor([3.0, 4.0], requires_grad=True)
x = torch.tensor([1.0, 2.0])  # Variable(x)
with torch.no_grad():  # Variable(x, volatile=True)
    print((weight * x).requires_grad)
loss = (weight * x).sum()
print(loss.item())  # loss.data[0]
loss.backward(retain_graph=True)  # retain_variables=True
loss.backward()
print(weight.grad)

# %%
# Two numbers to predict
# ----------------------
#
# An old script evaluates 10 batches of 1000 numbers in ``float32``. Each batch is made ``volatile``
# so that no graph is kept, and the losses are added up. Today ``volatile`` has no effect. The graph
# of a batch keeps the batch and the output of a ``tanh``, 4000 bytes each. How many bytes are kept
# at the end? It is
#
# .. math::
#
#     10 \cdot 2 \cdot 4000 = 80000
#
# and with ``torch.no_grad()`` it is 0.
#
# The second number: the square of ``z`` has the gradient :math:`2z`, at 2 it is 4. After the
# forward ``z.data`` is multiplied by 10. The backward then computes **40**, without an error.
#
# What each word does today
# -------------------------
#
# ``Variable`` wraps nothing any more. It returns a tensor on the same memory, and every tensor is
# an instance of ``Variable``.

v = Variable(x)
print(type(v), v.data_ptr() == x.data_ptr(), isinstance(x, Variable))

# %%
# ``volatile`` meant that nothing that follows is recorded. Now it is one warning, easily lost in a
# log, and the product is recorded.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    v = Variable(x, volatile=True)
print(f"{caught[0].category.__name__}: {caught[0].message}")
print((weight * v).requires_grad)

# %%
# The other two raise. A loss has no dimension, so it has no element 0.

loss = (weight * x).sum()
try:
    loss.data[0]
except IndexError as error:
    index_message = str(error)
    print(f"IndexError: {index_message}")
try:
    loss.backward(retain_variables=True)
except TypeError as error:
    type_message = str(error)
    print(f"TypeError: {type_message}")

# %%
# On the old releases
# -------------------
#
# All this changed in 0.4. The oldest release that was run for these pages is torch 1.0.0, and there
# the words behave as they do today.
#
# .. recorded: variable_and_volatile torch-1.0.0
#
# .. code-block:: none
#
#     >>> type(Variable(x))
#     <class 'torch.Tensor'>
#     >>> Variable(x).data_ptr() == x.data_ptr()
#     True
#     [...]
#     >>> v = Variable(x, volatile=True)
#     UserWarning: volatile was removed and now has no effect. Use `with torch.no_grad():` instead.
#     [...]
#     >>> (weight * v).requires_grad
#     True
#     [...]
#     >>> loss.data[0]
#     IndexError: invalid index of a 0-dim tensor. Use tensor.item() to convert a 0-dim tensor to a Python number
#     [...]
#     >>> loss.backward(retain_variables=True)
#     TypeError: backward() got an unexpected keyword argument 'retain_variables'
#
# Torch 1.4.0 printed the same. In 1.5.0 the message about the index got its present words.
#
# .. recorded: variable_and_volatile torch-1.5.0
#
# .. code-block:: none
#
#     >>> loss.data[0]
#     IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number
#
# What replaces them
# ------------------
#
# .. list-table::
#    :header-rows: 1
#
#    * - Then
#      - Now
#    * - ``Variable(x)``
#      - ``x``, or ``x.detach()`` if ``x`` has a history
#    * - ``Variable(x, volatile=True)``
#      - ``x``, and the whole evaluation inside ``with torch.no_grad():``
#    * - ``Variable(x, volatile=not training)``
#      - ``x``, and ``with torch.set_grad_enabled(training):``
#    * - ``loss.data[0]``
#      - ``loss.item()``
#    * - ``backward(retain_variables=True)``
#      - ``backward(retain_graph=True)``, if there is a second backward
#    * - ``z.data`` to change ``z``
#      - ``z`` inside ``with torch.no_grad():``
#
# The picture
# -----------
#
# Now the evaluation. A hook wraps each tensor that a graph saves, and weak references tell which
# ones are still alive. The three lines are the old script, the new one, and one that records but
# keeps only the number of each loss.


class Saved:
    def __init__(self, tensor):
        self.tensor = tensor.detach()


alive = weakref.WeakSet()


def pack(tensor):
    saved = Saved(tensor)
    alive.add(saved)
    return saved


def kept_bytes():
    storages = [saved.tensor.untyped_storage() for saved in alive]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def volatile(total):
    with warnings.catch_warnings(action="ignore"):
        batch = Variable(torch.ones(1000), volatile=True)
    return total + (batch * scale).tanh().square().sum()


def no_grad(total):
    with torch.no_grad():
        return total + (torch.ones(1000) * scale).tanh().square().sum()


def item(total):
    return total + (torch.ones(1000) * scale).tanh().square().sum().item()


scale = torch.ones(1000, requires_grad=True)
kept = {}
for step in (volatile, no_grad, item):
    total, kept[step.__name__] = 0, []
    for _ in range(10):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
            total = step(total)
        kept[step.__name__].append(kept_bytes())
    print(f"{step.__name__:9}", kept[step.__name__])

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for (name, values), style in zip(kept.items(), ("o-", "s-", "x--"), strict=True):
    ax.plot(range(1, 11), values, style, label=name)
ax.set(title="kept_bytes()", xlabel="batch")
ax.legend()

# %%
# The line climbs by 8000 with each batch. In a network of real size this ends with an out-of-memory
# error during the evaluation, while the training runs well. ``no_grad`` and ``item`` keep nothing.
# ``no_grad`` does not even build the graph.
#
# What goes wrong: ``no_grad`` in the wrong place
# -----------------------------------------------
#
# Some old training loops mark the target as ``volatile``. There the word meant only that the target
# needs no gradient, which is so anyway. Drop it. A ``no_grad`` around the loss stops the training.

target = torch.tensor([0.0, 1.0])
with torch.no_grad():
    loss = ((weight * x - target) ** 2).sum()
try:
    loss.backward()
except RuntimeError as error:
    print(error)

# %%
# What goes wrong: ``data``
# -------------------------
#
# A third word runs and gives no warning. Before 0.4 ``data`` was the tensor inside a ``Variable``.
# Today it returns a tensor on the same memory, and changes made through it are not counted. The
# backward of the square reads ``z`` again, and autograd does not see that it is another ``z``.


def gradient_after(change):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    y = z * z
    change(z)
    y.sum().backward()
    return x.grad


right = gradient_after(lambda z: None)
silent = gradient_after(lambda z: z.data.mul_(10))
print(right)
print(silent)

# %%
# ``detach`` also returns a tensor on the same memory, but both share one count of changes. The
# mistake is the same, and now there is an error. Only its first part is shown.

try:
    gradient_after(lambda z: z.detach().mul_(10))
except RuntimeError as error:
    detach_message = str(error).split(":")[0]
    print(detach_message)

# %%
# Proof
# -----
#
# These messages are what you search for in a log. If a new release changes them, this page fails.

assert str(caught[0].message).startswith("volatile was removed and now has no effect")
assert index_message.startswith("invalid index of a 0-dim tensor")
assert type_message.endswith("got an unexpected keyword argument 'retain_variables'")
assert detach_message.endswith("has been modified by an inplace operation")

# %%
# Try it
# ------
#
# 1. Replace every ``.data[0]`` of a script by ``.item()``. What happens to ``weight.data[0]``?
# 2. What does ``Variable(h)`` return for ``h = weight * 2``? Does it matter if you drop the word?
# 3. Change ``z.data.mul_(10)`` to ``z.mul_(10)`` inside ``torch.no_grad()``. Predict the gradient.
#
# Answers
# -------
#
# 1. It was never a loss. It reads the first of two elements, still runs, and must stay an index.

print(weight.data[0])
try:
    weight.item()
except RuntimeError as error:
    print(error)

# %%
# 2. A tensor without a history: no gradient passes through it. If you drop the word, the gradient
#    passes. Write ``h.detach()`` to keep the meaning.

h = weight * 2
print(Variable(h).requires_grad, h.detach().requires_grad, h.requires_grad)

# %%
# 3. There is none. ``no_grad`` stops the recording, but the change is counted.


def change_in_no_grad(z):
    with torch.no_grad():
        z.mul_(10)


try:
    gradient_after(change_in_no_grad)
except RuntimeError as error:
    print(str(error).split(":")[0])

# %%
# The old evaluation kept 80000 bytes, the new one none, and ``data`` turned 4 into 40, as you
# predicted.

assert kept["volatile"][-1] == 80000
assert max(kept["no_grad"]) == max(kept["item"]) == 0
assert (right[1], silent[1]) == (4, 40)

# %%
# Next
# ----
#
# - :ref:`migration-table`: every old line and its new form.
# - :ref:`sphx_glr_gallery_3_migration_plot_legacy_function.py`: Functions of the same time.
# - :ref:`sphx_glr_gallery_2_losses_plot_recording_layers.py`: another way to keep a graph alive.
# - :ref:`sphx_glr_gallery_4_verification_plot_silent_mistakes.py`: more mistakes without an error.
