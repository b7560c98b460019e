"""Train the networks of the course; this needs the extra "training", with PyTorch.

``python -m calib_utils.training --help`` trains one network and stores its predictions.
"""

import sys
from importlib.util import find_spec

if find_spec("torch") is None:
    _main = getattr(sys.modules["__main__"], "__spec__", None)
    _said = (
        "training needs PyTorch, which is not installed: "
        "in a copy of the repository, pip install '.[training]'"
    )
    # The command `python -m calib_utils.training` reports this without a traceback.
    if sys.argv[:1] == ["-m"] or (_main and _main.name.startswith("calib_utils.")):
        sys.exit(f"error: {_said}")
    raise ModuleNotFoundError(_said, name="torch")

import calib_utils.training.progress  # noqa: F401  before torchvision, which brings tqdm with a warning
from calib_utils.records.recipe import Recipe
from calib_utils.training.corruptions import CORRUPTIONS, corrupt
from calib_utils.training.data import (
    ImageSet,
    channel_statistics,
    load_digits,
    load_splits,
)
from calib_utils.training.devices import choose_device, environment
from calib_utils.training.loop import predict_logits, train
from calib_utils.training.networks import build_model

__all__ = [
    "CORRUPTIONS",
    "ImageSet",
    "Recipe",
    "build_model",
    "channel_statistics",
    "choose_device",
    "corrupt",
    "environment",
    "load_digits",
    "load_splits",
    "predict_logits",
    "train",
]
