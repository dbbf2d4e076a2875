r"""
Sixteen losses need 16 convolution backwards in one pass, 136 in many
=====================================================================

Before PyTorch 0.4 a loss was often a Module with a ``backward`` of its own. It squares the weight,
and it walks the network again for each loss. Both are easy to translate.

In short
--------

**Square the weight, add the losses up, and call backward once.** The code shows the old way, which
:class:`backpass.legacy.ContentLoss` keeps runnable for comparison, and then the new one.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from backpass import legacy
from backpass.losses import ContentLoss, StyleLoss

features = torch.tensor([1.0, 3.0], dtype=torch.float64, requires_grad=True)
target = torch.tensor([0.0, 2.0], dtype=torch.float64)

old = legacy.ContentLoss(target, weight=3)
old(features)
old_loss = old.backward()

new = ContentLoss(target, weight=legacy.equivalent_weight(3))
new_loss = new(features)
(new_gradient,) = torch.autograd.grad(new_loss, features)

# %%
# Two numbers to predict
# ----------------------
#
# Both differences are 1, so the mean squared error is 1. The old loss has the weight 3. It is not
# 3. The old Module multiplies the target and the input by the weight, before the square, and the
# loss is **9**. The new loss with the equivalent weight has the same value and the same gradient.

print(old_loss.item(), new_loss.item())
print(features.grad, new_gradient)

# %%
# The second number: a network has 16 convolutions in a row, and there is a loss after each. The old
# loop calls ``backward`` for each loss. The first loss walks back through 1 convolution, the second
# through 2, the last through 16. That makes **136** convolution backwards. One backward of the sum
# walks through each convolution once: **16**.
#
# The formula
# -----------
#
# .. math::
#
#     \operatorname{mse}(w x, w t) = w^2 \operatorname{mse}(x, t) \qquad
#     \sum_{d=1}^{16} d = 136
#
# Here :math:`x` is ``input``, :math:`t` is ``target``, :math:`w` is ``weight`` and :math:`d` is the
# depth of a loss: the number of convolutions before it. Many passes cost the sum of the depths. One
# pass costs the largest depth. The result is the same, because a gradient is linear: the gradient
# of a sum is the sum of the gradients.
#
# The picture
# -----------
#
# We count. A hook on the node of each convolution is called whenever its backward has run.

torch.manual_seed(0)
convolutions = [nn.Conv2d(2, 2, 3, padding=1, dtype=torch.float64) for _ in range(16)]
nn.ModuleList(convolutions).requires_grad_(False)
image = torch.rand(1, 2, 8, 8, dtype=torch.float64, requires_grad=True)


def one_backward_per_loss(criteria):
    score = 0
    for criterion in criteria:
        score += criterion.backward()
    return score


def one_backward_of_the_sum(criteria):
    score = sum(criterion.loss for criterion in criteria)
    score.backward()
    return score


def run(depths, backward):
    executed, criteria = [], []
    features = image
    for depth, convolution in enumerate(convolutions, start=1):
        features = convolution(features)
        features.grad_fn.register_hook(lambda *gradients: executed.append(1))
        for _ in range(depths.count(depth)):
            criteria.append(legacy.ContentLoss(torch.ones_like(features), weight=3))
            criteria[-1](features)
        features = features.tanh()
    image.grad = None
    score = backward(criteria)
    return score.item(), image.grad, len(executed)


every = list(range(1, 17))
many_score, many_gradient, many = run(every, one_backward_per_loss)
one_score, one_gradient, one = run(every, one_backward_of_the_sum)
print("one_backward_per_loss:", many)
print("one_backward_of_the_sum:", one)

# %%
# With fewer losses, spread evenly over the 16 convolutions, the difference is smaller. One pass
# always costs 16. Many passes cost more with each loss.

numbers = [1, 2, 4, 8, 16]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for backward, above in ((one_backward_per_loss, 6), (one_backward_of_the_sum, -14)):
    counts = [run(every[16 // k - 1 :: 16 // k], backward)[2] for k in numbers]
    print(backward.__name__, counts)
    ax.plot(numbers, counts, "o-", label=backward.__name__)
    for k, count in zip(numbers, counts, strict=True):
        ax.annotate(count, (k, count), textcoords="offset points", xytext=(0, above), ha="center")
ax.set(title="len(executed)", xlabel="len(criteria)", xticks=numbers, ylim=(0, 155))
ax.legend(loc="upper left")

# %%
# On the old releases
# -------------------
#
# This is not from memory. A script with three such losses after one layer was run on torch 1.0.0
# with Python 3.7. It uses the Module as it was written then, first with the weight 1 and then with
# the weight 3, and it counts how often the gradient passes through the layer. It printed:
#
# .. recorded: legacy_losses torch-1.0.0
#
# .. code-block:: none
#
#     weight 1: loss 14.180712
#     weight 3: loss 127.626407
#     ratio: 9.000000
#
#     one_backward_per_loss: score 127.626407, passes through the layer 3
#     one_backward_of_the_sum: score 127.626407, passes through the layer 1
#     largest gradient: 9.988593
#     largest difference: 1.8e-15
#
# The releases 1.4.0 and 1.5.0 printed the same. The Modules of ``backpass.legacy`` give the same
# score today:

grid = torch.arange(-3, 4, dtype=torch.float64) / 7
criteria = [legacy.ContentLoss(grid + shift, weight=3) for shift in (1, 2, 3)]
leaf = grid.clone().requires_grad_()
cubes = leaf * leaf * leaf
for criterion in criteria:
    criterion(cubes)
print(f"{one_backward_per_loss(criteria).item():.6f}")

# %%
# What goes wrong: the second backward
# ------------------------------------
#
# Between its backwards the shared part of the graph must stay, so the old Module has
# ``retain_graph=True`` as its default. Without it the second loss finds the graph freed. Only the
# first sentence of the message is shown.


def without_retain_graph(criteria):
    for criterion in criteria:
        criterion.backward(retain_graph=False)


try:
    run(every, without_retain_graph)
except RuntimeError as error:
    print(str(error).split(". ")[0])

# %%
# With it nothing is freed, not even after the last loss: the saved tensors stay until the graph is
# dropped. :ref:`sphx_glr_gallery_2_losses_plot_recording_layers.py` counts such bytes.
#
# What goes wrong: nobody calls ``Module.backward``
# -------------------------------------------------
#
# The old loop calls ``backward`` by hand. Autograd knows the operations that made a tensor, and no
# Module. If you call the backward of something else, the method is never run and its loss has no
# part in the gradient: here ``old`` passes its input on, and the gradient of the sum is 1.

features.grad = None
old(features).sum().backward()
print(features.grad)

# %%
# Proof
# -----
#
# The two loops give the same score and the same gradient, up to the order of the additions.

assert (many_gradient - one_gradient).abs().max() < 1e-12 * one_gradient.abs().max()
assert abs(many_score - one_score) < 1e-12 * one_score

# %%
# The style loss squares its weight in the same way, and is translated in the same way.

maps = torch.rand(1, 2, 8, dtype=torch.float64)
target_gram = torch.eye(2, dtype=torch.float64)[None]
old_style = legacy.StyleLoss(target_gram, weight=3)
old_style(maps)
new_style = StyleLoss(target_gram, weight=legacy.equivalent_weight(3))
torch.testing.assert_close(old_style.loss, new_style(maps))

# %%
# Try it
# ------
#
# 1. An old script says ``weight=1000``. Which weight does the new loss need?
# 2. Change ``score.backward()`` to ``torch.autograd.backward`` with the list of the losses. Predict
#    the count.
# 3. Put all 16 losses after the last convolution. Predict both counts.
#
# Answers
# -------
#
# 1. One million. If you keep 1000, the loss and its gradient are 1000 times too small.

print(legacy.equivalent_weight(1000))

# %%
# 2. Still 16. The engine starts at all losses together and adds the gradients on the way.


def one_call_with_a_list(criteria):
    losses = [criterion.loss for criterion in criteria]
    torch.autograd.backward(losses)
    return sum(losses)


print(run(every, one_call_with_a_list)[2])

# %%
# 3. Each pass walks through all 16 convolutions: 256, against 16.

last = [16] * 16
print(run(last, one_backward_per_loss)[2], run(last, one_backward_of_the_sum)[2])

# %%
# The old loss with the weight 3 was 9 times the mean squared error, and 16 losses took 136
# convolution backwards against 16, as you predicted.

assert old_loss.item() == new_loss.item() == 9
assert torch.equal(new_gradient, torch.tensor([9.0, 9.0], dtype=torch.float64))
assert (many, one) == (136, 16)

# %%
# Next
# ----
#
# - :func:`backpass.legacy.equivalent_weight` and :class:`backpass.legacy.StyleLoss` in the
#   reference.
# - :ref:`migration-table`: every old line and its new form.
# - :ref:`sphx_glr_gallery_2_losses_plot_content_loss.py`: the loss of today.
# - :ref:`sphx_glr_gallery_2_losses_plot_recording_layers.py`: the pattern in between, of 0.4.
