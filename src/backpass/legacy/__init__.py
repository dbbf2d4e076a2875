"""The losses of the time before PyTorch 0.4, runnable today, for comparison only."""

from backpass.legacy._losses import ContentLoss, StyleLoss, equivalent_weight

__all__ = ["ContentLoss", "StyleLoss", "equivalent_weight"]
