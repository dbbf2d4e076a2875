"""ReLU as a Module."""

import copy
import pickle

import torch
from torch import nn
from torch.testing import assert_close

from backpass.modules import ReLU


def test_it_applies_the_function():
    x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = ReLU()(x)
    assert y.grad_fn.name() == "_ReLUBackward"
    assert_close(y, nn.ReLU()(x))


def test_it_has_no_state_and_says_so():
    layer = ReLU()
    assert repr(layer) == "ReLU()"
    assert layer.state_dict() == nn.ReLU().state_dict()


def test_copies_work_like_the_original():
    x = torch.tensor([-1.0, 2.0])
    for twin in (copy.deepcopy(ReLU()), pickle.loads(pickle.dumps(ReLU()))):
        assert_close(twin(x), torch.tensor([0.0, 2.0]))


def test_an_operation_in_place_may_follow_in_a_network():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    network = nn.Sequential(nn.Identity(), ReLU(), nn.Hardtanh(-1, 1, inplace=True))
    assert_close(network(x), torch.tensor([0.0, 1.0]))
