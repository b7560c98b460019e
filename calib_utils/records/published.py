"""Predictions of models that others made: for ImageNet, of languages, and of FiveThirtyEight.

Sources, commits and what was rounded are in the ``README.md`` next to the files, with the licences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_utils.predictions import Predictions, as_predictions
from calib_utils.records.installed import check_known, folder_of
from calib_utils.records.npz import reading

_NOT_VOTED = 255
_DIGITS = 5  # of a confidence of an identifier
_ONE_CONFIDENCE, _ONE_PROBABILITY = 255, 65535  # as they are stored

#: The fourteen networks of `load_imagenet`: of torchvision, and of pytorch-image-models (timm).
IMAGENET_NETWORKS = (
    *("tv.densenet161", "tv.inception_v3", "tv.resnet101", "tv.resnext101_32x8d"),
    *("timm.densenetblur121d", "timm.efficientnet_b1", "timm.efficientnet_b3a"),
    *("timm.ese_vovnet19b_dw", "timm.gluon_senet154", "timm.mixnet_m"),
    *("timm.mobilenetv3_large_100", "timm.resnet34", "timm.resnext50_32x4d"),
    "timm.tf_inception_v3",
)

#: The language identifiers of `load_identifier`: models to download that say which language a text
#: is in.
IDENTIFIERS = ("fastText", "py3langid", "CLD3")

_OUTCOMES = ("baseball", "basketball", "womens-basketball", "senate")


@dataclass(frozen=True)
class ImageNetPredictions:
    """The predictions of one network for the 50,000 validation images of ImageNet.

    Each row is the same image for all networks.

    Attributes:
        network: one of ``IMAGENET_NETWORKS``.
        confidence: float64, shape (50000,): the largest probability, rounded to 1/255.
        correct: bool, shape (50000,): whether its class is ImageNet's label.
        acceptable: bool, shape (50000,): whether its class is among the reassessed labels.
        n_labels: int64, shape (50000,): how many classes the image has after the reassessment; 0
            where the raters found none, and such images are left out of its results.
        votes: float64, shape (50000,): how many of five raters saw the class that the network
            predicts in the image; NaN where they were not asked. None except for "tv.resnet101".

    Example:
        >>> found = load_imagenet("tv.resnet101")
        >>> round(float(found.confidence.mean()), 2), round(float(found.correct.mean()), 2)
        (0.82, 0.77)
    """

    network: str
    confidence: np.ndarray
    correct: np.ndarray
    acceptable: np.ndarray
    n_labels: np.ndarray
    votes: np.ndarray | None

    @property
    def predictions(self) -> Predictions:
        """Confidence and correctness by ImageNet's labels."""
        return as_predictions(confidence=self.confidence, correct=self.correct)


@dataclass(frozen=True)
class PublishedForecasts:
    """Forecasts of events, and what happened.

    Attributes:
        name: one of "baseball", "basketball", "womens-basketball" or "senate".
        prob: float64, shape (n,): the probability of the event, rounded to 1/65535.
        outcome: int64, shape (n,): 1 if it happened, otherwise 0.
        block: shape (n,), texts: the day of a game, or the race of a candidate.

    Example:
        >>> games = load_outcomes("baseball")
        >>> len(games.prob), str(games.block[0])
        (15747, '2016-04-03')
    """

    name: str
    prob: np.ndarray
    outcome: np.ndarray
    block: np.ndarray


def load_imagenet(network: str) -> ImageNetPredictions:
    """Read what a network predicted for ImageNet, with two sets of labels.

    The networks were trained by their makers until 2020; how each was trained is not recorded. The
    images have no validation split of their own.

    Args:
        network: one of ``IMAGENET_NETWORKS``.

    Raises:
        ValueError: if there is no such network, or the file is damaged.

    Sources: Hollemans 2020, https://github.com/hollance/reliability-diagrams; Beyer et al. 2020,
    "Are we done with ImageNet?", arXiv:2006.07159.

    Example:
        >>> found = load_imagenet("timm.efficientnet_b3a")
        >>> round(float(found.confidence.mean()), 2), round(float(found.correct.mean()), 2)
        (0.69, 0.82)
    """
    check_known("network", network, IMAGENET_NETWORKS)
    path = folder_of("imagenet") / "networks.npz"
    with reading(path, "network: the file of predictions for ImageNet") as (arrays, facts):
        row = facts["networks"].index(network)
        grade, votes = arrays["grade"][row], None
        if network == facts["voted"]:
            votes = np.where(arrays["votes"] == _NOT_VOTED, np.nan, arrays["votes"])
        confidence = arrays["confidence"][row] / _ONE_CONFIDENCE
        n_labels = arrays["labels"].astype(np.int64)
    return ImageNetPredictions(network, confidence, grade % 2 == 1, grade >= 2, n_labels, votes)


def load_identifier(model: str) -> dict[str, np.ndarray]:
    """Read in which language a downloaded model took 38,400 texts to be.

    The texts are from the menus and messages of 122 Debian packages, 800 in each of 48 languages.
    Each row is the same text for all models; the texts themselves are not stored.

    Args:
        model: one of ``IDENTIFIERS``.

    Returns:
        A column of shape (38400,) under each of the names that the report finds in the file itself.
        These are "confidence", float64, 0 to 1, with at most five digits; "correct", uint8, 0 or 1;
        "predicted" and "language", the codes of the predicted and of the true language; "length",
        such as "1 word" or "3-5 words"; "package", whose texts belong together; and "shared",
        bool, whether the same text occurs in several of the languages.

    Raises:
        ValueError: if there is no such model, or the file is damaged.

    Example:
        >>> texts = load_identifier("CLD3")
        >>> sure = texts["confidence"] >= 0.9
        >>> round(float(texts["correct"][sure].mean()), 3)
        0.856
    """
    check_known("model", model, IDENTIFIERS)
    path = folder_of("identifiers") / f"{model}.npz"
    with reading(path, f"model: the file of {model!r}") as (arrays, _):
        columns = {
            name: column.astype(str) if column.dtype.kind == "S" else column
            for name, column in arrays.items()
        }
        return columns | {"confidence": arrays["confidence"].astype(float).round(_DIGITS)}


def load_outcomes(name: str) -> PublishedForecasts:
    """Read forecasts of FiveThirtyEight and what happened.

    Args:
        name: "baseball" (the Major League, 2016 to 2022), "basketball" (the NBA) or
            "womens-basketball" (the WNBA): a row a game, with the probability that the first team
            wins; or "senate": a row for each candidate and time of the forecasts during three
            election nights, so that the rows of a race belong together.

    Raises:
        ValueError: if there are no such forecasts, or the file is damaged.

    Source: FiveThirtyEight, https://github.com/fivethirtyeight/checking-our-work-data (CC BY 4.0).

    Example:
        >>> senate = load_outcomes("senate")
        >>> len(senate.prob), len(set(senate.block))
        (15019, 96)
    """
    check_known("name", name, _OUTCOMES)
    path = folder_of("fivethirtyeight") / f"{name}.npz"
    with reading(path, f"name: the file of {name!r}") as (arrays, facts):
        prob = arrays["prob"] / _ONE_PROBABILITY
        block = np.array(facts["blocks"])[arrays["block"]]
        outcome = arrays["outcome"].astype(np.int64)
    return PublishedForecasts(name, prob, outcome, block)
