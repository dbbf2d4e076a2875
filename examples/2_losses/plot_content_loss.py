r"""
The content loss pulls each feature straight to its target
==========================================================

The content loss is the mean squared difference of two feature maps. Its gradient is the difference
itself, times ``2 / n``, and it is only right when the target is detached.

In short
--------

**Detach the target once, keep it, and compare every new feature map with it.**
:class:`backpass.losses.ContentLoss` does all three: it stores a detached copy and returns the loss.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from backpass.losses import ContentLoss, content_loss

input = torch.tensor([1.0, 3.0, 5.0], dtype=torch.float64, requires_grad=True)
target = torch.tensor([4.0, 3.0, 2.0], dtype=torch.float64)
criterion = ContentLoss(target)
loss = criterion(input)
(grad_input,) = torch.autograd.grad(loss, input)

# %%
# A number to predict
# -------------------
#
# The differences ``input - target`` are -3, 0 and 3. Their squares are 9, 0 and 9, and the mean of
# these three numbers is **6**. The gradient has a factor of two thirds: -2, 0 and 2. Say both to
# yourself before you read on.

print(loss.item())
print(grad_input)

# %%
# The formula
# -----------
#
# .. math::
#
#     \ell = \frac{w}{n} \sum_i (x_i - t_i)^2 \qquad
#     \bar{x}_i = \frac{2 w}{n} (x_i - t_i) \, \bar{\ell}
#
# Here :math:`x` is ``input``, :math:`t` is ``target``, :math:`n` is the number of elements,
# :math:`w` is ``weight`` and :math:`\bar{\ell}` is the cotangent of the loss, which is 1 when you
# call ``loss.backward()``. The code is the formula:

n = input.numel()
by_hand = 2 * (input - target) / n
print(torch.equal(grad_input, by_hand))

# %%
# No element looks at its neighbour. A feature below its target has a negative gradient, a feature
# above it a positive one, and a feature that has arrived has none.
#
# The weight multiplies the loss once. With the weight 3 the loss is three times as large, and so is
# the gradient. The Module of the time before PyTorch 0.4 took the square of the weight instead:
# :ref:`sphx_glr_gallery_3_migration_plot_legacy_losses.py` shows how to translate such a weight.

weighted = content_loss(input, target, weight=3.0)
print(weighted.item(), torch.autograd.grad(weighted, input)[0])

# %%
# The picture
# -----------
#
# On the left are the three elements on the parabola of their own term, each with its tangent. The
# slopes are the three gradients. On the right, gradient descent with the step 0.75 halves each
# difference again and again: each element goes straight to its own dotted target.

x = input.detach().clone().requires_grad_()
path = [x.tolist()]
for _ in range(6):
    (grad_x,) = torch.autograd.grad(criterion(x), x)
    with torch.no_grad():
        x -= 0.75 * grad_x
    path.append(x.tolist())

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
difference = torch.linspace(-4.5, 4.5, 100)
left.plot(difference, difference**2 / n, color="0.6")
for i in range(n):
    d, slope = (input - target)[i].item(), grad_input[i].item()
    near = torch.tensor([d - 1.2, d + 1.2])
    left.plot(near, d**2 / n + slope * (near - d), linewidth=2, color=f"C{i}")
    left.plot(d, d**2 / n, "o", color=f"C{i}", label=f"grad_input[{i}] = {slope:g}")
    right.plot([step[i] for step in path], "o-", color=f"C{i}", label=f"input[{i}]")
    right.axhline(target[i], linestyle=":", color=f"C{i}")
left.set(title="(input - target) ** 2 / n", xlabel="input - target")
left.legend(loc="upper center")
right.set(title="input -= 0.75 * grad_input", xlabel="step")
right.legend(loc="upper right")

# %%
# What goes wrong: the target is not detached
# -------------------------------------------
#
# In a style transfer the target comes out of the same network as the input. The parameters of a
# network require a gradient unless you freeze them. So the target has a graph too, and the loss has
# two ways down: one to the picture and one through the target.
#
# The first backward frees both. The second iteration builds a new graph for the picture, but the
# target is still the old one, and its graph is gone.

network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Conv2d(4, 4, 3))
photo = torch.rand(1, 1, 8, 8)
picture = torch.rand(1, 1, 8, 8, requires_grad=True)

tracked = network(photo)
print(tracked.requires_grad)
content_loss(network(picture), tracked).backward()
try:
    content_loss(network(picture), tracked).backward()
except RuntimeError as error:
    print(error)

# %%
# The message offers ``retain_graph=True``. That silences the error and keeps the mistake: each
# backward then walks through the target as well, and the graph of the target stays in memory as
# long as the target does. The repair is one word.

detached = network(photo).detach()
for _ in range(2):
    content_loss(network(picture), detached).backward()
print("two iterations, no error")

# %%
# Without an error it is worse. Here the target is computed from ``input`` itself, as in a loss that
# compares a signal with a smoothed or scaled copy of itself. A small step of ``input`` now moves
# the target too. The target follows by half a step, so the gradient is half as long.

pulled = torch.autograd.grad(content_loss(input, (0.5 * input).detach()), input)[0]
followed = torch.autograd.grad(content_loss(input, 0.5 * input), input)[0]
print(pulled)
print(followed)

# %%
# Neither of the two is wrong as mathematics: the second is the exact gradient of another function.
# ``content_loss`` gives a gradient to every tensor that requires one, as the rest of PyTorch does,
# and it is you who says what is a target. ``ContentLoss`` always detaches.

criterion_of_tracked = ContentLoss(network(photo))
print(criterion_of_tracked)
print(criterion_of_tracked.target.requires_grad)

# %%
# Proof
# -----
#
# :func:`torch.autograd.gradcheck` compares the gradient with finite differences. With the weight 1
# the value is that of ``F.mse_loss``, bit for bit. The operation needs no backward of its own: it
# is made of operations whose backward PyTorch knows.

assert torch.autograd.gradcheck(content_loss, (input, target))
assert torch.equal(loss, F.mse_loss(input, target))

# %%
# Try it
# ------
#
# 1. Change ``reduction`` to ``"sum"``. Predict the loss and the gradient.
# 2. Repeat both tensors 100 times, so that the picture is 100 times as large. Predict the loss, and
#    the first element of the gradient.
# 3. Detach a feature map without a copy, and apply an in-place ReLU to it afterwards. What has
#    become of the target?
#
# Answers
# -------
#
# 1. The sum is 18, and nothing is divided by 3: the gradient is the difference times 2.

total = content_loss(input, target, reduction="sum")
print(total.item(), torch.autograd.grad(total, input)[0])

# %%
# 2. The mean is still 6. The gradient of each element is 100 times smaller, because each is one of
#    300 now. A learning rate that suits a small picture may be too small for a large one.

large = input.detach().repeat(100).requires_grad_()
mean = content_loss(large, target.repeat(100))
print(round(mean.item(), 10), round(torch.autograd.grad(mean, large)[0][0].item(), 10))

# %%
# 3. ``detach`` shares the memory. The in-place ReLU rewrites the target without a word.
#    ``ContentLoss`` keeps a copy, which stays as it was.

features = torch.tensor([-1.0, 1.0])
shared = features.detach()
kept = ContentLoss(features)
F.relu_(features)
print(shared)
print(kept.target)

# %%
# The loss is 6 and the gradient is -2, 0 and 2, as you predicted.

assert loss.item() == 6
assert grad_input.tolist() == [-2, 0, 2]

# %%
# Next
# ----
#
# - :class:`backpass.losses.ContentLoss` and :func:`backpass.losses.content_loss` in the reference.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_loss.py`: a loss that does not care where a feature
#   is.
# - :ref:`sphx_glr_gallery_2_losses_plot_recording_layers.py`: how to get losses out of the middle
#   of a network.
