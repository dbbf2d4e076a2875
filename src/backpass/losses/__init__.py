"""Losses of style transfer: a function, a Module around it, and the recording layer of old."""

from backpass.losses._content import ContentLoss, ContentRecorder, content_loss
from backpass.losses._style import StyleLoss, StyleRecorder, style_loss
from backpass.losses._total_variation import TotalVariationLoss, total_variation_loss

__all__ = [
    "ContentLoss",
    "ContentRecorder",
    "StyleLoss",
    "StyleRecorder",
    "TotalVariationLoss",
    "content_loss",
    "style_loss",
    "total_variation_loss",
]
