r"""
A recorded loss keeps its whole graph alive, a returned one does not
====================================================================

The PyTorch tutorial of the time of 0.4 puts layers into the network that record a loss while the
features pass. This page uses them, counts the bytes that they keep, and shows the form without
them.

In short
--------

**Let a loss return its value, and add the values up in one function.** Nothing is left behind when
the function returns.
"""

import copy
import weakref

import matplotlib.pyplot as plt
import torch
from torch import nn

from backpass.losses import ContentLoss, ContentRecorder, StyleLoss, StyleRecorder

torch.manual_seed(0)
layers = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)]
backbone = nn.Sequential(*layers).requires_grad_(False)
content, style = torch.rand(1, 1, 8, 8), torch.rand(1, 1, 8, 8)
criteria = {0: StyleLoss.from_features(layers[0](style)), 2: ContentLoss(backbone(content))}


def total_loss(features):
    losses = []
    for i, layer in enumerate(layers):
        features = layer(features)
        if i in criteria:
            losses.append(criteria[i](features))
    return sum(losses)


# %%
# The pattern of 0.4
# ------------------
#
# A recorder is transparent: it returns its input itself and keeps the loss in ``loss``. So the
# losses sit in ``nn.Sequential`` between the other layers, one call runs everything, and the values
# are collected afterwards. One backward of the sum is enough.

style_layer = StyleRecorder.from_features(layers[0](style))
content_layer = ContentRecorder(backbone(content))
network = nn.Sequential(layers[0], style_layer, *layers[1:], content_layer)

picture = torch.rand(1, 1, 8, 8, requires_grad=True)
network(picture)
loss = style_layer.loss + content_layer.loss
loss.backward()

# %%
# Both forms are the same function, with the same gradient.

(grad_picture,) = torch.autograd.grad(total_loss(picture), picture)
print(torch.equal(loss, total_loss(picture)))
print(torch.allclose(picture.grad, grad_picture))

# %%
# A number to predict
# -------------------
#
# The recorder has a price. Suppose you only want to print the loss: you run the network, read the
# two numbers, and call no backward. How many bytes stay in memory?
#
# A graph keeps what its backward needs. Here that is the output of the first convolution for the
# Gram matrix, the output of the ReLU for itself and for the second convolution, and the output of
# the second convolution for the content loss. Each has 8 channels of 8 by 8 numbers of 4 bytes,
# which is 2048 bytes. The Gram matrix of 8 by 8 numbers adds 256. Together that is **6400** bytes.
#
# .. math::
#
#     3 \cdot (8 \cdot 8 \cdot 8 \cdot 4) + 8 \cdot 8 \cdot 4 = 6400
#
# To count them we wrap each saved tensor in an object of our own. A weak reference does not keep
# that object alive: it is there as long as the graph is. Weights, targets and the picture exist
# anyway and do not count.


class Saved:
    def __init__(self, tensor):
        self.tensor = tensor.detach()  # With its grad_fn, an output would keep its own graph alive.


alive = weakref.WeakSet()
history = []


def kept_bytes():
    storages = [saved.tensor.untyped_storage() for saved in alive]
    kept = {storage.data_ptr(): storage.nbytes() for storage in storages}
    modules = nn.ModuleList([network, *criteria.values()])
    for tensor in (picture, *modules.state_dict().values()):
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(kept.values())


def pack(tensor):
    saved = Saved(tensor)
    alive.add(saved)
    history.append(kept_bytes())
    return saved


def counted(function):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        return function()


# %%
# Now the two ways to read the loss.


def read_recorded():
    network(picture)
    return (style_layer.loss + content_layer.loss).item()


def read_returned():
    return total_loss(picture).item()


counted(read_recorded)
recorded_bytes = kept_bytes()
print("recorded:", recorded_bytes)

style_layer.loss = content_layer.loss = None
counted(read_returned)
returned_bytes = kept_bytes()
print("returned:", returned_bytes)

# %%
# A backward frees the saved tensors, so the usual loop is spared. With ``retain_graph=True`` it is
# not. In a network of real size this is no small thing: a ``float32`` map of 64 channels and 256 by
# 256 pixels is 16 MiB.

counted(lambda: network(picture))
(style_layer.loss + content_layer.loss).backward(retain_graph=True)
print("after backward(retain_graph=True):", kept_bytes())
(style_layer.loss + content_layer.loss).backward()
print("after backward():", kept_bytes())

# %%
# The picture
# -----------
#
# The loss is read three times, and the bytes are counted whenever a tensor is saved. The returned
# loss starts from 0 each time and climbs to 6400. The recorded losses of the last call are still
# there when the next call starts, and they are replaced one by one. So the old graph and the new
# one are in memory together: the style part of the old graph is gone when the content layer is
# reached, and 4096 bytes of the old graph come on top of 6400.

curves = {}
for read in (read_returned, read_recorded):
    style_layer.loss = content_layer.loss = None
    history.clear()
    for _ in range(3):
        counted(read)
        history.append(kept_bytes())
    curves[read.__name__] = list(history)
    print(read.__name__, max(history))

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for name, curve in curves.items():
    ax.step(range(len(curve)), curve, where="post", linewidth=2, label=name)
ax.set(title="kept_bytes()", xlabel="pack(tensor)")
ax.legend()

# %%
# What goes wrong: a loss of another picture
# ------------------------------------------
#
# A recorder holds the loss of whatever passed last. If a part of the network runs alone, the other
# recorders keep an old value. Here the first two layers look at ``style``, whose style loss is 0.
# The sum then mixes the style loss of one picture with the content loss of another, without an
# error.

network(picture)
before = content_layer.loss.item()
network[:2](style)
print("style loss:", style_layer.loss.item())
print("content loss is still that of picture:", content_layer.loss.item() == before)

# %%
# If two pictures pass, only the second one gets a gradient. The loss of the first is lost.

first, second = (torch.rand(1, 1, 8, 8, requires_grad=True) for _ in range(2))
network(first)
network(second)
(style_layer.loss + content_layer.loss).backward()
print(first.grad is None, second.grad is None)

# %%
# What goes wrong: an in-place ReLU
# ---------------------------------
#
# Many published networks use ``nn.ReLU(inplace=True)``. It overwrites the output of the convolution
# before it. The recorder between the two has already saved this output for its backward. PyTorch
# counts the changes of a saved tensor and refuses.

inplace = nn.Sequential(layers[0], style_layer, nn.ReLU(inplace=True), layers[2], content_layer)
inplace(picture)
try:
    (style_layer.loss + content_layer.loss).backward()
except RuntimeError as error:
    print(error)

# %%
# The repair is to switch the option off. The plain form needs it too: what matters is that a loss
# has read the features, not who holds the loss.

for module in inplace:
    if isinstance(module, nn.ReLU):
        module.inplace = False
inplace(picture)
(style_layer.loss + content_layer.loss).backward()
print("no error")

# %%
# Proof
# -----
#
# A transparent layer must not change the features, nor the gradient that passes through it. It
# returns the very same object, so autograd sees no layer at all.

features = torch.rand(1, 8, 8, 8, requires_grad=True)
assert style_layer(features) is features
assert content_layer(features) is features

# %%
# Try it
# ------
#
# 1. Read the recorded loss under ``torch.no_grad()``. Predict the bytes that stay.
# 2. Change the 8 channels of the two convolutions to 16. Predict the bytes.
# 3. Copy the network with ``copy.deepcopy`` after a forward. What is ``loss`` in the copy?
#
# Answers
# -------
#
# 1. Without a graph nothing is saved: 0 bytes. If you keep the recorders, read their losses like
#    this.

style_layer.loss = content_layer.loss = None
with torch.no_grad():
    counted(read_recorded)
print(kept_bytes())

# %%
# 2. The three feature maps double, and the Gram matrix has four times as many entries: 3 times 4096
#    plus 1024 is 13312.

wide = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)]
wide_backbone = nn.Sequential(*wide).requires_grad_(False)
style_layer = StyleRecorder.from_features(wide[0](style))
content_layer = ContentRecorder(wide_backbone(content))
network = nn.Sequential(wide[0], style_layer, *wide[1:], content_layer)
counted(read_recorded)
print(kept_bytes())

# %%
# 3. It is ``None``. A loss with a graph can be neither copied nor pickled, so a recorder leaves it
#    out.

print(copy.deepcopy(network)[-1].loss)

# %%
# The recorded losses kept 6400 bytes, as predicted, and the returned ones kept none.

assert recorded_bytes == 6400
assert returned_bytes == 0
assert max(curves["read_returned"]) == 6400
assert max(curves["read_recorded"]) == 6400 + 4096

# %%
# Next
# ----
#
# - :class:`backpass.losses.ContentRecorder` and :class:`backpass.losses.StyleRecorder` in the
#   reference.
# - :ref:`sphx_glr_gallery_3_migration_plot_legacy_losses.py`: the pattern before this one, in which
#   each loss ran a backward of its own.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_loss.py`: what the style loss compares.
