"""Functions with a hand-written backward; each gradient is declared exact or surrogate."""

from backpass.functions._gram_matrix import gram_matrix
from backpass.functions._gram_mse import gram_mse
from backpass.functions._linear import linear
from backpass.functions._relu import relu
from backpass.functions._round_straight_through import round_straight_through
from backpass.functions._total_variation import total_variation

__all__ = [
    "gram_matrix",
    "gram_mse",
    "linear",
    "relu",
    "round_straight_through",
    "total_variation",
]
