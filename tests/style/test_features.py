"""features returns the outputs of named layers, runs no further than it must, and keeps nothing."""

import gc
import weakref
from collections import OrderedDict

import pytest
import torch
from torch import nn

from backpass.style import features
from helpers import exactly

PICTURE = torch.linspace(-1, 1, 3 * 8 * 8).view(1, 3, 8, 8)


class Counting(nn.Module):
    """Count the calls, and add one."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, input):
        self.calls += 1
        return input + 1


class Exploding(nn.Module):
    def forward(self, input):
        raise AssertionError("this layer is not needed")


def hooks(network):
    return sum(len(module._forward_hooks) for module in network.modules())


def test_the_outputs_come_by_name_in_the_order_that_is_asked_for():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten())
    found = features(network, PICTURE, ["2", "0", "1"])
    assert list(found) == ["2", "0", "1"]
    first = network[0](PICTURE)
    torch.testing.assert_close(found["0"], first)
    torch.testing.assert_close(found["1"], first.relu())
    torch.testing.assert_close(found["2"], first.relu().flatten(1))


def test_the_layers_of_nested_modules_have_dotted_names():
    inner = nn.Sequential(OrderedDict(one=Counting(), two=Counting()))
    network = nn.Sequential(OrderedDict(block=inner, last=Counting()))
    found = features(network, torch.zeros(1), ["block", "block.one", "last"])
    assert {name: output.item() for name, output in found.items()} == {
        "block": 2.0,
        "block.one": 1.0,
        "last": 3.0,
    }


def test_a_network_runs_until_the_last_layer_that_is_needed_and_no_further():
    network = nn.Sequential(Counting(), Counting(), Counting(), Exploding())
    assert list(features(network, torch.zeros(1), ["1", "0"])) == ["1", "0"]
    assert [layer.calls for layer in network[:3]] == [1, 1, 0]


def test_a_block_that_is_left_early_is_left_in_its_middle():
    network = nn.Sequential(nn.Sequential(Counting(), Exploding()), Exploding())
    assert features(network, torch.zeros(1), ["0.0"])["0.0"].item() == 1


def test_without_layers_nothing_runs():
    assert features(Exploding(), PICTURE, []) == {}


def test_a_layer_that_is_named_twice_is_returned_once():
    found = features(nn.Sequential(Counting(), Exploding()), torch.zeros(1), ["0", "0"])
    assert found == {"0": torch.ones(1)}


def test_of_a_layer_that_is_called_twice_the_first_output_is_returned():
    shared = Counting()
    network = nn.Sequential(OrderedDict(first=shared, again=shared, last=Counting()))
    found = features(network, torch.zeros(1), ["first", "last"])
    assert (found["first"].item(), found["last"].item()) == (1.0, 3.0)


def test_the_whole_network_is_a_layer_with_an_empty_name():
    assert features(nn.Sequential(Counting(), Counting()), torch.zeros(1), [""])[""].item() == 2


def test_gradients_flow_back_to_the_picture():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), Exploding()).double()
    picture = PICTURE.double().requires_grad_()
    (actual,) = torch.autograd.grad(features(network, picture, ["1"])["1"].sum(), picture)
    (expected,) = torch.autograd.grad(network[0](picture).tanh().sum(), picture)
    torch.testing.assert_close(actual, expected)


def test_the_hooks_are_gone_afterwards():
    network = nn.Sequential(Counting(), nn.ReLU(), Exploding())
    features(network, PICTURE, ["0", "1"])
    assert hooks(network) == 0


def test_the_hooks_are_gone_after_an_error_too():
    network = nn.Sequential(Counting(), Exploding(), nn.ReLU())
    with pytest.raises(AssertionError, match=exactly("this layer is not needed")):
        features(network, PICTURE, ["0", "2"])
    assert hooks(network) == 0


def test_the_hooks_of_the_user_stay_and_are_heard():
    network = nn.Sequential(Counting())
    network[0].register_forward_hook(lambda module, inputs, output: 10 * output)
    assert features(network, torch.zeros(1), ["0"])["0"].item() == 10
    assert hooks(network) == 1


def test_nothing_is_kept_between_calls():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), Exploding())
    picture = PICTURE.clone().requires_grad_()
    gc.disable()
    try:
        found = features(network, picture, ["0", "1"])
        alive = [weakref.ref(tensor) for tensor in [picture, *found.values()]]
        del found, picture
        assert [reference() for reference in alive] == [None, None, None]
    finally:
        gc.enable()


def test_a_layer_that_the_network_does_not_have_is_refused_with_those_that_it_has():
    network = nn.Sequential(OrderedDict(stem=nn.ReLU(), head=nn.Sequential(nn.ReLU())))
    message = "features: expected a layer of the network, got 'tail'; it has stem, head, head.0"
    with pytest.raises(ValueError, match=exactly(message)):
        features(network, PICTURE, ["stem", "tail"])


def test_a_network_without_layers_says_so():
    message = "features: expected a layer of the network, got '0'; it has none"
    with pytest.raises(ValueError, match=exactly(message)):
        features(nn.ReLU(), PICTURE, ["0"])


def test_a_layer_that_is_not_called_is_an_error():
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.ReLU()

        def forward(self, picture):
            return picture

    message = "features: expected the network to call layer 'unused', got a forward without it"
    with pytest.raises(ValueError, match=exactly(message)):
        features(Network(), PICTURE, ["unused"])


def test_a_layer_that_returns_no_tensor_is_refused():
    network = nn.Sequential(nn.LSTM(8, 2))
    message = "features: expected layer '0' to return a tensor, got tuple"
    with pytest.raises(TypeError, match=exactly(message)):
        features(network, PICTURE[0], ["0"])
    assert hooks(network) == 0


OVERWRITTEN = exactly(
    "features: expected the output of layer '0' to be left as it is, got a later layer that "
    "writes into it; build that layer with inplace=False"
)


@pytest.mark.parametrize("grad", [True, False])
def test_an_output_that_a_later_layer_overwrites_is_an_error(grad):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Flatten())
    for layers in (["0", "1"], ["0", "2"]):
        with torch.set_grad_enabled(grad), pytest.raises(ValueError, match=OVERWRITTEN):
            features(network, PICTURE, layers)


def test_what_is_written_in_place_before_or_after_a_layer_is_no_concern():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.ReLU(inplace=True))
    torch.testing.assert_close(
        features(network, PICTURE, ["0"])["0"], network[0](PICTURE)
    )  # the run ends before the ReLU
    torch.testing.assert_close(features(network, PICTURE, ["2"])["2"], network(PICTURE))


def test_inference_mode_works_where_nothing_counts_versions():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    with torch.inference_mode():
        found = features(network, PICTURE, ["0", "1"])
    torch.testing.assert_close(found["1"].clone(), network(PICTURE).detach())
