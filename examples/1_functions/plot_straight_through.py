r"""
Rounding has gradient zero; a declared surrogate lets training go on
====================================================================

The derivative of rounding is zero almost everywhere, so nothing before it ever learns. The
straight-through estimator takes the derivative of the identity instead. That is not the derivative
of rounding, and a test has to say so.

In short
--------

**Round in the forward, hand the cotangent on unchanged in the backward, and declare that this is a
surrogate.** Here is the whole Function:
"""

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function

from backpass.functions import round_straight_through


class RoundStraightThrough(Function):
    @staticmethod
    def forward(input):
        return input.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %%
# A number to predict
# -------------------
#
# The input is 0.4 and the target is 3. The loss is the squared difference of the **rounded** input
# and the target. What is the gradient of the loss?
#
# With ``torch.round`` it is **0**: a small step of 0.4 does not change the rounded value. With the
# straight-through estimator it is the derivative of the square at the rounded value, which is
# ``2 * (0 - 3)``, so **-6**. Note that it is not ``2 * (0.4 - 3)``. The forward has really rounded.


def gradient(rounding):
    x = torch.tensor(0.4, requires_grad=True)
    loss = (rounding(x) - 3) ** 2
    (grad_x,) = torch.autograd.grad(loss, x)
    return grad_x.item()


true, surrogate = gradient(torch.round), gradient(RoundStraightThrough.apply)
print(true, surrogate)

# %%
# The formula
# -----------
#
# .. math::
#
#     y = \operatorname{round}(x) \qquad
#     \text{true: } \bar{x} = 0 \qquad
#     \text{surrogate: } \bar{x} = \bar{y}
#
# Here :math:`x` is ``input``, :math:`y` is the output and :math:`\bar{y}` is ``grad_output``.
# Nothing is saved, because the surrogate does not depend on the input.
#
# The surrogate is a guess about direction. A small step does not change the rounded value, but many
# small steps the same way do. Over a long distance rounding is close to the identity.
#
# The picture
# -----------
#
# On the left are rounding and the identity: the stairs are flat, and the line is what the backward
# pretends. On the right are the two gradients of the sum.

x = torch.linspace(-2.4, 2.4, 241, requires_grad=True)
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
left.plot(x.detach(), x.detach(), "--", color="0.5", label="x")
left.plot(x.detach(), x.detach().round(), ".", markersize=3, color="C0", label="round(x)")
left.set(title="output", xlabel="x")
left.legend()
for rounding in (torch.round, round_straight_through):
    (grad_x,) = torch.autograd.grad(rounding(x).sum(), x)
    right.plot(x.detach(), grad_x, label=rounding.__name__)
right.set(title="grad_input", xlabel="x", ylim=(-0.2, 1.6))
right.legend()

# %%
# What goes wrong: training stands still
# --------------------------------------
#
# Here is a small case of quantisation-aware training. A model has three weights, and they must be
# whole numbers when it is used. So the forward rounds them. Gradient descent keeps the weights
# themselves as ordinary numbers, so that small steps can add up. The labels come from the whole
# numbers 2, -1 and 3.

torch.manual_seed(0)
features = torch.randn(64, 3)
labels = features @ torch.tensor([2.0, -1.0, 3.0])


def train(rounding, steps=30):
    weight = torch.full((3,), 0.25, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    losses, weights = [], []
    for _ in range(steps):
        loss = (features @ rounding(weight) - labels).square().mean()
        losses.append(loss.item())
        weights.append(weight.tolist())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return weight, losses, weights


stuck, stuck_losses, _ = train(torch.round)
print("weight:", stuck.tolist())
print("grad:  ", stuck.grad.tolist())

# %%
# There is no error. The gradient is not ``None`` either: it is there, and it is zero. The weights
# have not moved. Now the same with the straight-through estimator.

learned, losses, weights = train(round_straight_through)
print("round(weight):", learned.detach().round().tolist())
print("loss:", losses[-1])

# %%
# On the left, the loss with ``round`` is a flat line, and the other one goes down in stairs to
# zero. On the right are the three weights on their way. Dotted lines are their rounded values,
# which the forward uses. A weight stops as soon as all three rounded values are right, and not at a
# whole number.

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
left.plot(stuck_losses, label="round")
left.plot(losses, label="round_straight_through")
left.set(title="loss", xlabel="step")
left.legend()
for i, path in enumerate(torch.tensor(weights).T):
    right.plot(path, color=f"C{i}", label=f"weight[{i}]")
    right.step(range(len(path)), path.round(), ":", where="mid", color=f"C{i}")
right.set(title="weight, round(weight)", xlabel="step")
right.legend(loc=(0.6, 0.2))

# %%
# Proof, when the gradient is not a derivative
# --------------------------------------------
#
# :func:`torch.autograd.gradcheck` accepts ``torch.round``, because zero is the true derivative. On
# the surrogate it **must** fail. If it passed, the estimator would be missing.

points = torch.tensor([-1.2, 0.3, 2.7], dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(torch.round, points))
try:
    torch.autograd.gradcheck(round_straight_through, points)
except RuntimeError as error:
    message = str(error)
    print(message)

# %%
# But a check that fails proves little: it fails for every wrong backward as well. So a surrogate
# needs a second test, which compares the gradient with the formula that the documentation states.
# A random cotangent also shows a backward that forgets it. Here is one with a wrong factor.


class Halved(RoundStraightThrough):
    @staticmethod
    def backward(ctx, grad_output):
        return 0.5 * grad_output


def gradcheck_fails(function):
    return not torch.autograd.gradcheck(function, points, raise_exception=False)


def equals_formula(function):
    grad_output = torch.randn_like(points)
    (grad_input,) = torch.autograd.grad(function(points), points, grad_output)
    return torch.equal(grad_input, grad_output)


candidates = {
    "round": torch.round,
    "Halved": Halved.apply,
    "RoundStraightThrough": RoundStraightThrough.apply,
    "round_straight_through": round_straight_through,
}
verdicts = {name: (gradcheck_fails(f), equals_formula(f)) for name, f in candidates.items()}
for name, verdict in verdicts.items():
    print(f"{name:23}", *verdict)

# %%
# Only both tests together tell the estimator from rounding and from a wrong factor. Do not trust
# ``gradgradcheck`` here: it only compares the derivative of the backward with finite
# differences of the backward, and passes although the factor is wrong.

print(torch.autograd.gradgradcheck(Halved.apply, points))

# %%
# Try it
# ------
#
# 1. Change the last line of ``RoundStraightThrough`` to ``return 0.5 * grad_output``, as in
#    ``Halved``. Predict the gradient at 0.4. Does the training still arrive?
# 2. Train one weight so that its rounded value comes close to 0.6. Where does it come to rest?
# 3. Write the estimator without a Function, with ``detach`` only.
#
# Answers
# -------
#
# 1. The gradient is -3. The training arrives too: half the gradient is the same as half the
#    learning rate. A surrogate can be wrong by a factor and nobody notices, which is why the
#    formula is tested.

print(gradient(Halved.apply))
print(train(Halved.apply, steps=60)[0].detach().round().tolist())

# %%
# 2. It does not come to rest. Below 0.5 the rounded value is 0, and the gradient pushes up. Above
#    0.5 it is 1, and the gradient pushes down. The better value, 1, is left again and again. The
#    surrogate knows nothing about the step between them.

weight = torch.tensor(0.25, requires_grad=True)
rounded = []
for _ in range(40):
    output = round_straight_through(weight)
    rounded.append(int(output))
    (grad_weight,) = torch.autograd.grad((output - 0.6) ** 2, weight)
    with torch.no_grad():
        weight -= 0.1 * grad_weight
print(rounded[-10:])

# %%
# 3. Add the rounding error as a constant. The value is rounded, and the gradient is that of the
#    first term.


def round_with_detach(x):
    return x + (x.round() - x).detach()


print(round_with_detach(points).tolist(), equals_formula(round_with_detach))

# %%
# The true gradient is 0 and the surrogate is -6, as you predicted. Only the surrogate learned.

assert (true, surrogate) == (0, -6)
assert stuck.tolist() == [0.25] * 3
assert learned.detach().round().tolist() == [2, -1, 3]
assert "Jacobian mismatch" in message
assert verdicts == {
    "round": (False, False),
    "Halved": (True, False),
    "RoundStraightThrough": (True, True),
    "round_straight_through": (True, True),
}
assert set(rounded[-10:]) == {0, 1}

# %%
# Next
# ----
#
# - :func:`backpass.functions.round_straight_through` in the reference.
# - :ref:`sphx_glr_gallery_1_functions_plot_relu.py`: an exact gradient, and a choice at one point.
# - :ref:`guide-which-tool`: when a custom gradient is the right tool.
