r"""
The Gram matrix keeps a texture and forgets where it is
=======================================================

Shuffle the pixels of a feature map: the content loss is large, the style loss stays 0. What the
Gram matrix keeps is enough to paint stripes, a checkerboard and dots out of noise.

In short
--------

**The style loss compares which channels respond together, and never at which pixel.** The target is
a Gram matrix: :meth:`backpass.losses.StyleLoss.from_features` computes it from the features of the
style.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from backpass.functions import gram_matrix
from backpass.losses import StyleLoss, content_loss, style_loss

features = torch.tensor([[[2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0]]], dtype=torch.float64)
criterion = StyleLoss.from_features(features)

shuffled = features.flip(-1)
together = torch.tensor([[[2.0, 2.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0]]], dtype=torch.float64)

# %%
# A number to predict
# -------------------
#
# ``features`` holds one sample of two channels and four pixels. Each channel responds with 2 at two
# pixels, and the two channels never respond at the same pixel. The inner product of a channel with
# itself is 8, and that of the two channels is 0. Divided by the number of elements, which is 8, the
# Gram matrix is the identity.

print(criterion.target_gram)

# %%
# ``shuffled`` holds the same four pixels in the opposite order. Every element is off by 2, so the
# content loss is **4**. The inner products are sums over the pixels, and a sum does not know an
# order: the style loss is **0**.
#
# In ``together`` both channels respond at the same two pixels. Half of the elements are off by 2,
# so the content loss is **2**. The Gram matrix is full of ones. Two of its four entries are off by
# 1, so the style loss is **0.5**.

for other in (shuffled, together):
    print(content_loss(other, features).item(), criterion(other).item())

# %%
# The formula
# -----------
#
# .. math::
#
#     G = \frac{F F^\top}{C P} \qquad
#     \ell = \frac{w}{N C^2} \sum_{n,i,j} (G_{nij} - A_{nij})^2 \qquad
#     \bar{F} = \frac{2 w \, \bar{\ell}}{N C^3 P} (D + D^\top) F, \quad D = G - A
#
# :math:`F` is one sample as a matrix of :math:`C` channels by :math:`P` pixels, :math:`A` is
# ``target_gram``, and :math:`N` is the number of samples. The gradient is again a feature map: it
# is :math:`F` with its channels mixed. It is the Gram matrix that is compared, but it is the pixels
# that move.

input = together.clone().requires_grad_()
(grad_input,) = torch.autograd.grad(criterion(input), input)

N, C, P = input.shape
D = together @ together.mT / (C * P) - criterion.target_gram
print(grad_input)
print(torch.allclose(grad_input, 2 / (N * C**3 * P) * (D + D.mT) @ together))

# %%
# The picture
# -----------
#
# Now the same with real pictures. Three textures are drawn by code, each of 64 by 64 pixels.

size = 64
row, column = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")


def colour(mask, yes, no):
    yes, no = (torch.tensor(rgb).view(1, 3, 1, 1) for rgb in (yes, no))
    return torch.where(mask, yes, no)


textures = {
    "stripes": colour((row + column) % 16 < 8, [0.9, 0.3, 0.1], [1.0, 0.9, 0.6]),
    "checker": colour((row // 8 + column // 8) % 2 == 0, [0.1, 0.2, 0.5], [0.7, 0.9, 1.0]),
    "dots": colour(
        (row % 16 - 7.5) ** 2 + (column % 16 - 7.5) ** 2 < 25, [0.95, 0.75, 0.1], [0.1, 0.35, 0.25]
    ),
}

# %%
# The features come from 32 random filters, which are drawn once and never trained. They look at the
# picture at three scales. After a ReLU each channel says where its filter fits.

torch.manual_seed(0)
filters = torch.randn(32, 3, 7, 7) / (3 * 7 * 7) ** 0.5


def layers(picture):
    for scale in (1, 2, 4):
        smaller = F.avg_pool2d(picture - 0.5, scale)
        yield F.relu(F.conv2d(F.pad(smaller, (3, 3, 3, 3), mode="circular"), filters))


# %%
# First the experiment with the shuffled pixels, on a whole feature map. On the left is one channel
# of the dots, before and after. All channels are shuffled in the same way. On the right are the two
# Gram matrices, 32 by 32: they are the same.

dots = next(layers(textures["dots"]))
order = torch.randperm(size * size)
shuffled_dots = dots.flatten(2)[..., order].view_as(dots)
grams = [gram_matrix(f, scale=1 / (32 * size * size))[0] for f in (dots, shuffled_dots)]

figure, axes = plt.subplots(1, 4, figsize=(7, 2), layout="constrained")
names = ["dots[0, 0]", "shuffled_dots[0, 0]", "grams[0]", "grams[1]"]
for ax, name, image in zip(axes, names, [dots[0, 0], shuffled_dots[0, 0], *grams], strict=True):
    ax.imshow(image.numpy())
    ax.set_title(name)
    ax.axis("off")

# %%
# In ``float32`` the sums are rounded in another order, so the style loss is not exactly 0. It is 0
# compared with the content loss.

style_dots = StyleLoss.from_features(dots)
print(style_dots(shuffled_dots).item() < 1e-12, f"{content_loss(shuffled_dots, dots).item():.3f}")

# %%
# If the Gram matrices hold a texture, we can go back from them to a picture. We start with noise
# and change its pixels until the three Gram matrices agree with those of the texture. The weight of
# each layer makes its loss relative: it is 1 if all features are 0.


def relative_style_loss(features):
    gram = StyleLoss.from_features(features).target_gram
    return StyleLoss(gram, weight=1 / gram.square().mean().item())


def paint_like(texture, noise):
    criteria = [relative_style_loss(features) for features in layers(texture)]
    picture = noise.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([picture], max_iter=100, line_search_fn="strong_wolfe")
    losses = []

    def closure():
        optimizer.zero_grad()
        pairs = zip(criteria, layers(picture), strict=True)
        loss = sum(criterion(features) for criterion, features in pairs)
        loss.backward()
        losses.append(loss.item())
        return loss

    optimizer.step(closure)
    return picture.detach().clamp(0, 1), losses


# %%
# Each row shows the texture, the Gram matrix of its finest scale, the noise and the picture.
# Compare the positions: the pattern has come back, but it has moved. The style loss has almost
# vanished, and the content loss between the picture and the texture has not, because nothing told
# the picture where to put its dots.

noise = torch.rand(1, 3, size, size)
figure, axes = plt.subplots(3, 4, figsize=(7, 5.4), layout="constrained")
falls = []
for row_of_axes, (name, texture) in zip(axes, textures.items(), strict=True):
    picture, losses = paint_like(texture, noise)
    falls.append(losses[0] / losses[-1])
    print(f"{name}: style {losses[0]:.2f} -> {losses[-1]:.5f}", end=", ")
    print(f"content {content_loss(picture, texture).item():.2f}")
    gram = StyleLoss.from_features(next(layers(texture))).target_gram
    images = [
        texture[0].movedim(0, -1),
        gram[0],
        noise[0].movedim(0, -1),
        picture[0].movedim(0, -1),
    ]
    titles = [f"textures['{name}']", "target_gram", "noise", "picture"]
    for ax, image, title in zip(row_of_axes, images, titles, strict=True):
        ax.imshow(image.numpy())
        ax.set_title(title, fontsize=9)
        ax.axis("off")

# %%
# What goes wrong: a Gram matrix that is not normalised
# -----------------------------------------------------
#
# A raw Gram matrix is a sum over the pixels. The same texture on twice as many pixels has twice the
# sum. Repeat ``features`` once: the raw matrices differ by 8 on the diagonal, and a loss of raw
# matrices says 32 where the texture is the same. There is no error. An optimiser would raise the
# contrast of the picture until the sums agree.

larger = features.repeat(1, 1, 2)
print(F.mse_loss(gram_matrix(larger), gram_matrix(features)).item())
print(criterion(larger).item())

# %%
# So ``style_loss`` divides by the number of elements of a sample, :math:`C P`. The style picture
# and the painted picture may have different sizes.
#
# The other mistake is to give the features where the Gram matrix belongs. The library does not
# convert them silently.

try:
    StyleLoss(features)
except ValueError as error:
    print(error)

# %%
# Proof
# -----
#
# PyTorch's tutorial of the time of 0.4 divides by all four sizes of its input. For one sample that
# is the same number, and the loss is the same. With two samples the tutorial treats the channels of
# both as one long list, and compares one sample with the other. Here each sample keeps a matrix of
# its own.


def tutorial_gram(input):
    a, b, c, d = input.size()
    rows = input.view(a * b, c * d)
    return rows @ rows.T / (a * b * c * d)


one, two = torch.rand(1, 3, 4, 4), torch.rand(2, 3, 4, 4)
target_gram = tutorial_gram(torch.rand(1, 3, 4, 4))
torch.testing.assert_close(
    style_loss(one, target_gram[None]), F.mse_loss(tutorial_gram(one), target_gram)
)
print(tutorial_gram(two).shape)
print(StyleLoss.from_features(two).target_gram.shape)

# %%
# The gradient is exact. :func:`torch.autograd.gradcheck` finds no difference, for the features and
# for the target.

inputs = (torch.rand(2, 3, 5, dtype=torch.float64), torch.rand(2, 3, 3, dtype=torch.float64))
assert torch.autograd.gradcheck(style_loss, [tensor.requires_grad_() for tensor in inputs])

# %%
# Try it
# ------
#
# 1. Change ``features.flip(-1)`` to ``-features``. Predict the content loss and the style loss.
# 2. Change it to ``2 * features``. Predict both again.
# 3. How many different numbers are in the three Gram matrices of a texture, and how many are in its
#    pixels?
#
# Answers
# -------
#
# 1. Half of the elements are off by 4, so the content loss is 8. In the Gram matrix the sign
#    appears twice and cancels: the style loss is 0. It forgets the sign as well.

print(content_loss(-features, features).item(), criterion(-features).item())

# %%
# 2. The content loss is 2. The Gram matrix is 4 times as large, so its diagonal is off by 3 and the
#    style loss is 4.5. The Gram matrix grows with the square of the features and its squared
#    difference with the fourth power, so a layer with large features easily dominates the sum. This
#    is why the painting above used relative weights.

print(content_loss(2 * features, features).item(), criterion(2 * features).item())

# %%
# 3. A symmetric matrix of 32 by 32 has at most 528 different entries, and there are three of them.
#    The pixels are more than seven times as many numbers.

print(3 * 32 * 33 // 2, texture.numel())

# %%
# The shuffled features have the content loss 4 and the style loss 0, as you predicted, and each
# painting has made its style loss more than 1000 times smaller.

assert content_loss(shuffled, features).item() == 4
assert criterion(shuffled).item() == 0
assert criterion(together).item() == 0.5
assert min(falls) > 1000

# %%
# Next
# ----
#
# - :class:`backpass.losses.StyleLoss` and :func:`backpass.functions.gram_matrix` in the reference.
# - :ref:`sphx_glr_gallery_2_losses_plot_content_loss.py`: the loss that does care where a feature
#   is.
# - :ref:`sphx_glr_gallery_2_losses_plot_recording_layers.py`: how to get losses out of the middle
#   of a network.
