"""Modules that hold the parameters and call the functions."""

from backpass.modules._linear import Linear
from backpass.modules._relu import ReLU

__all__ = ["Linear", "ReLU"]
