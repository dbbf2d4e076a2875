"""Style transfer: networks that describe pictures, and the descent; needs ``backpass[style]``."""

from backpass.style._features import features
from backpass.style._networks import VGG19, EfficientNetLite0, efficientnet_lite0, vgg19
from backpass.style._patterns import pattern
from backpass.style._pictures import read_picture, write_picture
from backpass.style._transfer import Progress, StyleTransfer, ladder

__all__ = [
    "VGG19",
    "EfficientNetLite0",
    "Progress",
    "StyleTransfer",
    "efficientnet_lite0",
    "features",
    "ladder",
    "pattern",
    "read_picture",
    "vgg19",
    "write_picture",
]
