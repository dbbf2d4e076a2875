"""Each fault, planted in the real source, breaks the promise that it is said to break."""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import backpass
import contract
from cases import CASES
from contract import CHECKS, Operation

PACKAGE = Path(backpass.__file__).parent
CASE = {case.name: case for case in CASES}


@dataclass(frozen=True)
class Mutant:
    """A fault, and how it shows.

    Attributes:
        why: What somebody may have thought.
        operation: The name of the public operation.
        old: Text that stands once in the operation's source file.
        new: What replaces it.
        killer: The name of the check that must fail, without ``check_``.
        symptom: A pattern that the failure's message must contain.
    """

    why: str
    operation: str
    old: str
    new: str
    killer: str
    symptom: str

    def load(self) -> Operation:
        """Run the mutated source as a module and return its operation."""
        case = CASE[self.operation]
        folder, name = case.operation.__module__.removeprefix("backpass.").split(".")
        source = (PACKAGE / folder / f"{name}.py").read_text("utf-8")
        assert source.count(self.old) == 1, f"{self.old!r} stands {source.count(self.old)} times"
        module = ModuleType(f"{name}_mutant")
        # Under the real file's name, coverage would count lines that only a mutant has run.
        code = compile(source.replace(self.old, self.new), f"<{self.why}>", "exec")
        exec(code, module.__dict__)  # noqa: S102
        return getattr(module, self.operation)


MUTANTS = (
    Mutant(
        "forgets to transpose the cotangent",
        "linear",
        "_rows(grad_output).mT @ _rows(input).conj()",
        "(_rows(input).mT @ _rows(grad_output)).conj()",
        "value",
        "invalid gradient at index 1",
    ),
    Mutant(
        "forgets that complex numbers have conjugates",
        "linear",
        "grad_output @ weight.conj()",
        "grad_output @ weight",
        "first_derivative",
        "Jacobian mismatch",
    ),
    Mutant(
        "squeezes the bias gradient, as the seed did",
        "linear",
        "_rows(grad_output).sum(0)",
        "_rows(grad_output).sum(0).squeeze(0)",
        "value",
        r"invalid gradient at index 2 - got \[\]",
    ),
    Mutant(
        "lets the engine reduce what was broadcast",
        "linear",
        "_rows(grad_output).sum(0)",
        "grad_output",
        "backward_by_hand",
        "'shape' do not match",
    ),
    Mutant(
        "infers the number of rows",
        "linear",
        "tensor.reshape(prod(tensor.shape[:-1]), tensor.shape[-1])",
        "tensor.reshape(-1, tensor.shape[-1])",
        "value",
        "cannot reshape tensor of 0 elements",
    ),
    Mutant(
        "keeps the activations even for a frozen weight",
        "linear",
        "input if needs_weight else None",
        "input",
        "saved",
        "assert",
    ),
    Mutant(
        "makes text of a size that the compiler keeps as a symbol",
        "linear",
        'f"{expected}"',
        "str(expected)",
        "compile_symbolic",
        "Failed to trace builtin operator",
    ),
    Mutant(
        "forgets the scale in the backward",
        "gram_matrix",
        "_features(input), 2 * scale)",
        "_features(input), 1.0)",
        "value",
        "not close",
    ),
    Mutant(
        "takes every cotangent for a symmetric one",
        "gram_matrix",
        "half + half.mT",
        "cotangent",
        "value",
        "not close",
    ),
    Mutant(
        "detaches in the backward",
        "gram_matrix",
        "_features(input), 2 * scale)",
        "_features(input.detach()), 2 * scale)",
        "second_derivative",
        "Jacobian mismatch",
    ),
    Mutant(
        "declares the backward once differentiable",
        "gram_matrix",
        "    def backward(ctx",
        "    @torch.autograd.function.once_differentiable\n    def backward(ctx",
        "reverse_over_reverse",
        "not close",
    ),
    Mutant(
        "reads memory that nobody has written",
        "gram_matrix",
        "beta=0, alpha",
        "beta=1, alpha",
        "value",
        "not close",
    ),
    Mutant(
        "batches the first dimension, whichever vmap has chosen",
        "gram_matrix",
        "input.movedim(in_dims[0], 0)",
        "input",
        "vmap",
        "'shape' do not match",
    ),
    Mutant(
        "leaves the cast to autocast",
        "gram_matrix",
        "_checks.autocast(input), scale",
        "input, scale",
        "autocast",
        "expected scalar type BFloat16",
    ),
    Mutant(
        "asks for a view of any strides",
        "gram_matrix",
        "return input.reshape(*input.shape[:2], prod(input.shape[2:]))",
        "return input.view(*input.shape[:2], prod(input.shape[2:]))",
        "layouts",
        "view size is not compatible",
    ),
    Mutant(
        "lets the gradient pass at the kink, as the seed did",
        "relu",
        "ctx.save_for_backward(output)",
        "ctx.save_for_backward(inputs[0].sign() + 0.5)",
        "value",
        "not close",
    ),
    Mutant(
        "keeps the input, which nobody else needs",
        "relu",
        "ctx.save_for_backward(output)",
        "ctx.save_for_backward(inputs[0])",
        "saved",
        "assert",
    ),
    Mutant(
        "keeps a mask as an attribute",
        "relu",
        "ctx.save_for_backward(output)",
        "ctx.save_for_backward(output); ctx.mask = output > 0",
        "context",
        "keeps a tensor as mask",
    ),
    Mutant(
        "masks the cotangent in place, as the seed did",
        "relu",
        "return torch.ops.aten.threshold_backward(grad_output, output, 0)",
        "return grad_output.mul_(output > 0)",
        "cotangents",
        "written into the cotangent",
    ),
    Mutant(
        "looks for NaN before it computes",
        "relu",
        "return input.clamp(min=0)",
        "return input if input.isnan().any() else input.clamp(min=0)",
        "contents_unread",
        "cannot be called on meta tensors",
    ),
    Mutant(
        "computes in double precision",
        "relu",
        "return input.clamp(min=0)",
        "return input.double().clamp(min=0)",
        "dtypes",
        "'dtype' do not match",
    ),
    Mutant(
        "returns a gradient in double precision, which the engine casts",
        "relu",
        "threshold_backward(grad_output, output, 0)",
        "threshold_backward(grad_output.double(), output.double(), 0)",
        "backward_by_hand",
        "'dtype' do not match",
    ),
    Mutant(
        "leaves out the rule for vmap",
        "relu",
        "generate_vmap_rule = True",
        "",
        "vmap",
        "does not have vmap support",
    ),
    Mutant(
        "adds a forward mode that nobody has declared",
        "relu",
        "generate_vmap_rule = True",
        "generate_vmap_rule = True\n    jvp = staticmethod(lambda ctx, tangent: tangent)",
        "forward_mode",
        "DID NOT RAISE",
    ),
    Mutant(
        "adds a forward mode, which dynamo does not take",
        "round_straight_through",
        "generate_vmap_rule = True",
        "generate_vmap_rule = True\n    jvp = staticmethod(lambda ctx, tangent: tangent)",
        "compile",
        "jvp",
    ),
    Mutant(
        "gives the forward a context",
        "round_straight_through",
        """    def forward(input: Tensor) -> Tensor:
        return input.round()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass
""",
        """    def forward(ctx: Any, input: Tensor) -> Tensor:
        return input.round()
""",
        "func",
        "must override the setup_context staticmethod",
    ),
    Mutant(
        "rounds ties away from the even number",
        "round_straight_through",
        "input.round()",
        "(input + 0.5).floor()",
        "value",
        "not close",
    ),
    Mutant(
        "rounds in place",
        "round_straight_through",
        "input.round()",
        "input.round_()",
        "aliasing",
        "output is an input",
    ),
    Mutant(
        "scales the straight-through gradient",
        "round_straight_through",
        "return grad_output",
        "return 2 * grad_output",
        "value",
        "not close",
    ),
    Mutant(
        "takes the true derivative of rounding",
        "round_straight_through",
        "return grad_output",
        "return 0 * grad_output",
        "first_derivative",
        "DID NOT RAISE",
    ),
    Mutant(
        "weights both tensors, as the time before 0.4 did",
        "content_loss",
        "return weight * F.mse_loss",
        "return weight**2 * F.mse_loss",
        "value",
        "not close",
    ),
    Mutant(
        "divides by the number of samples too, as the 0.4 tutorial did",
        "style_loss",
        "prod(features.shape[1:])",
        "prod(features.shape)",
        "value",
        "not close",
    ),
    Mutant(
        "saves a difference that is a constant to the second derivative",
        "gram_mse",
        "        _, difference = output\n",
        "        _, difference = output\n        ctx.mark_non_differentiable(difference)\n",
        "second_derivative",
        "Jacobian mismatch",
    ),
    Mutant(
        "takes every target for a symmetric one",
        "gram_mse",
        "pull_back(cotangent.to(input.dtype), input, ctx.scale)",
        "(2 * ctx.scale * cotangent @ input.flatten(2)).reshape_as(input)",
        "value",
        "not close",
    ),
    Mutant(
        "forgets the scale in the backward",
        "gram_mse",
        "input, ctx.scale)",
        "input, 1.0)",
        "value",
        "not close",
    ),
    Mutant(
        "forgets the two of the square",
        "gram_mse",
        "2 / max(1, difference.numel())",
        "1 / max(1, difference.numel())",
        "value",
        "not close",
    ),
    Mutant(
        "takes the mean in the backward of a sum",
        "gram_mse",
        ' if reduction == "mean" else 2\n',
        "\n",
        "value",
        "not close",
    ),
    Mutant(
        "gives the target the gradient of the features' side",
        "gram_mse",
        "grad_target = -cotangent",
        "grad_target = cotangent",
        "value",
        "not close",
    ),
    Mutant(
        "gives the target a symmetric gradient",
        "gram_mse",
        "grad_target = -cotangent",
        "grad_target = -(cotangent + cotangent.mT) / 2",
        "value",
        "not close",
    ),
    Mutant(
        "keeps the features even for a target alone",
        "gram_mse",
        "input if ctx.needs_input_grad[0] else None",
        "input",
        "saved",
        "other inputs kept",
    ),
    Mutant(
        "keeps the target beside the difference",
        "gram_mse",
        "None, difference)",
        "None, difference, inputs[1])",
        "saved",
        "other inputs kept",
    ),
    Mutant(
        "lets autocast round the difference",
        "gram_mse",
        "_checks.autocast(target_gram, torch.float32)",
        "_checks.autocast(target_gram)",
        "autocast",
        "'dtype' do not match",
    ),
    Mutant(
        "drops the cotangent of the difference",
        "gram_mse",
        "grad_difference + ctx.factor",
        "ctx.factor",
        "reverse_over_reverse",
        "not close",
    ),
    Mutant(
        "wraps around the border",
        "total_variation",
        "return input[..., 1:, :] - input[..., :-1, :], ",
        "return input - input.roll(1, -2), ",
        "value",
        "must match the size",
    ),
    Mutant(
        "leaves the first row out",
        "total_variation",
        "total[..., :-1, :].sub_(vertical, ",
        "total[..., 1:-1, :].sub_(vertical[..., 1:, :], ",
        "value",
        "not close",
    ),
    Mutant(
        "adds each difference to the wrong neighbour",
        "total_variation",
        "total[..., 1:].add_(horizontal",
        "total[..., :-1].add_(horizontal",
        "value",
        "not close",
    ),
    Mutant(
        "divides by the pixels instead of by the pairs",
        "total_variation",
        "height / max(1, height - 1)",
        "1.0",
        "value",
        "not close",
    ),
    Mutant(
        "forgets that one row has no vertical pairs",
        "total_variation",
        "height / max(1, height - 1)",
        "height / (height - 1)",
        "value",
        "division by zero",
    ),
    Mutant(
        "forgets the two of the square",
        "total_variation",
        ", factor=2)",
        ")",
        "value",
        "not close",
    ),
    Mutant(
        "detaches in the backward",
        "total_variation",
        "ctx.reduction, *_differences(input), f",
        "ctx.reduction, *_differences(input.detach()), f",
        "second_derivative",
        "Jacobian mismatch",
    ),
    Mutant(
        "keeps the differences, as autograd does",
        "total_variation",
        "ctx.save_for_backward(input)",
        "ctx.save_for_backward(*_differences(input))",
        "saved",
        "other inputs kept",
    ),
    Mutant(
        "keeps the input beside the signs",
        "total_variation",
        "ctx.save_for_backward(*signs)",
        "ctx.save_for_backward(inputs[0], *signs)",
        "saved",
        "other inputs kept",
    ),
    Mutant(
        "keeps the signs as floating-point numbers",
        "total_variation",
        "vertical.sign().to(torch.int8), horizontal.sign().to(torch.int8)",
        "vertical.sign(), horizontal.sign()",
        "saved",
        "other bytes kept",
    ),
    Mutant(
        "keeps a sign as one bit",
        "total_variation",
        "vertical.sign().to(torch.int8), horizontal",
        "vertical > 0, horizontal",
        "value",
        "bool",
    ),
    Mutant(
        "gives a flat picture a slope",
        "total_variation",
        "vertical.sign().to(torch.int8), horizontal",
        "torch.where(vertical < 0, -1, 1).to(torch.int8), horizontal",
        "value",
        "not close",
    ),
    Mutant(
        "takes the operation that vmap has no rule for",
        "total_variation",
        ".pow_(2)",
        ".square_()",
        "vmap",
        "performance drop",
    ),
    Mutant(
        "squares the weight, as the time before 0.4 did",
        "total_variation_loss",
        "return weight * total",
        "return weight**2 * total",
        "value",
        "not close",
    ),
    Mutant(
        "forgets to pass the power on",
        "total_variation_loss",
        "total_variation(input, p=p, ",
        "total_variation(input, ",
        "value",
        "not close",
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.operation}: {mutant.why}")
def test_the_mutant_is_killed(mutant):
    check, operation = getattr(contract, f"check_{mutant.killer}"), mutant.load()
    with pytest.raises((Exception, pytest.fail.Exception), match=mutant.symptom) as death:
        check(CASE[mutant.operation], operation)
    message = str(death.value).splitlines()[0]
    print(f"\n{mutant.operation} {mutant.why}: killed by {mutant.killer}: {message:.80}")


def test_every_check_kills_a_mutant():
    assert {f"check_{mutant.killer}" for mutant in MUTANTS} == {check.__name__ for check in CHECKS}


def test_every_operation_has_a_mutant():
    assert {mutant.operation for mutant in MUTANTS} == set(CASE)
