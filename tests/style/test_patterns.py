"""Patterns are pictures that depend on nothing but their name, size and seed."""

import pytest
import torch

from backpass.style import pattern
from helpers import exactly

NAMES = ("glass", "rings", "swirl")
each_name = pytest.mark.parametrize("name", NAMES)


@each_name
@pytest.mark.parametrize("size", [1, 2, 3, 33, 64])
def test_a_pattern_is_a_square_picture_of_any_size(name, size):
    picture = pattern(name, size)
    assert picture.shape == (1, 3, size, size)
    assert picture.dtype == torch.float32
    assert picture.is_contiguous()
    assert 0 <= picture.min() <= picture.max() <= 1


@each_name
def test_a_pattern_is_the_same_each_time_and_leaves_the_global_generator_alone(name):
    torch.manual_seed(1)
    first = pattern(name, 40)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert torch.rand(1) == drawn
    assert torch.equal(first, pattern(name, 40))
    assert torch.equal(first, pattern(name, 40, seed=0))


@each_name
def test_another_seed_gives_another_picture(name):
    difference = (pattern(name, 40) - pattern(name, 40, seed=1)).abs()
    assert difference.mean() > 0.05


def test_the_patterns_differ_and_have_contrast_in_each_colour():
    pictures = [pattern(name, 64) for name in NAMES]
    assert min(picture.std((2, 3)).min() for picture in pictures) > 0.1
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert (pictures[one] - pictures[other]).abs().mean() > 0.1


@each_name
def test_a_larger_pattern_is_the_same_picture(name):
    small, large = pattern(name, 32), pattern(name, 128)
    smaller = torch.nn.functional.interpolate(large, 32, mode="area")
    correlation = torch.corrcoef(torch.stack([small.flatten(), smaller.flatten()]))[0, 1]
    assert correlation > 0.5


def test_an_unknown_name_is_refused():
    message = "pattern: expected one of 'glass', 'rings', 'swirl', got 'stripes'"
    with pytest.raises(ValueError, match=exactly(message)):
        pattern("stripes")


@pytest.mark.parametrize("size", [0, -3])
def test_a_size_that_is_not_positive_is_refused(size):
    with pytest.raises(ValueError, match=exactly(f"pattern: expected a positive size, got {size}")):
        pattern("glass", size)
