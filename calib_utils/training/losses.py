"""Alternatives to plain cross-entropy in training: label smoothing, mixup, focal loss."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn import functional as F

__all__ = ["focal_loss", "label_smoothing", "mixup"]


def label_smoothing(targets: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Soft targets: give a share of each target distribution to all classes, in equal parts.

    Args:
        targets: probabilities of the K classes, shape (n, K), such as
            ``torch.nn.functional.one_hot(labels, K)``.
        smoothing: the share, at least 0 and below 1; 0.1 is usual.

    Returns:
        (1 - smoothing) * targets + smoothing / K, float32 or as ``targets``, shape (n, K).

    Raises:
        ValueError: if the smoothing or the shape is not valid.

    Source: Szegedy et al. 2016, "Rethinking the Inception Architecture", section 7; Müller,
    Kornblith and Hinton 2019, "When Does Label Smoothing Help?".

    Example:
        >>> import torch
        >>> [round(q, 3) for q in label_smoothing(torch.eye(4)[:1], 0.1)[0].tolist()]
        [0.925, 0.025, 0.025, 0.025]
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing: expected at least 0 and below 1, found {smoothing}")
    if targets.ndim != 2:
        raise ValueError(f"targets: expected shape (n, K), found {tuple(targets.shape)}")
    return (1 - smoothing) * targets + smoothing / targets.shape[1]


def mixup(
    images: torch.Tensor, targets: torch.Tensor, alpha: float, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mix each image of a batch with a different one, and their targets in the same ratio.

    Each image becomes :math:`r x_i + (1 - r) x_j`, its target :math:`r y_i + (1 - r) y_j`: j is
    drawn by a permutation of the batch, and one r for the whole batch from a Beta(alpha, alpha).

    Args:
        images: float, shape (n, ...).
        targets: probabilities of the K classes, shape (n, K).
        alpha: above 0. With a small one, most images change little.
        rng: the source of the draws.

    Returns:
        Images and targets of the same shapes.

    Raises:
        ValueError: if ``alpha`` is not above 0, or there is not one target for each image.

    Source: Zhang et al. 2018, "mixup: Beyond Empirical Risk Minimization", section 2;
    Thulasidasan et al. 2019, "On Mixup Training", on its calibration.

    Example:
        >>> import numpy as np, torch
        >>> images, targets = torch.tensor([[0.0], [1.0]]), torch.eye(2)
        >>> mixed, shares = mixup(images, targets, alpha=0.4, rng=np.random.default_rng(1))
        >>> bool((mixed[:, 0] == shares[:, 1]).all())
        True
    """
    if not 0 < alpha < math.inf:
        raise ValueError(f"alpha: expected a number above 0, found {alpha}")
    if targets.ndim != 2 or len(targets) != len(images):
        raise ValueError(
            f"targets: expected shape ({len(images)}, K), one row for each image, found "
            f"{tuple(targets.shape)}"
        )
    ratio = float(rng.beta(alpha, alpha))
    partners = torch.from_numpy(rng.permutation(len(images))).to(images.device)
    mixed, shares = (ratio * x + (1 - ratio) * x[partners] for x in (images, targets))
    return mixed, shares


def focal_loss(logits: torch.Tensor, targets: torch.Tensor, gamma: float) -> torch.Tensor:
    r"""Cross-entropy in which confident predictions have a lower weight.

    With probabilities p and targets q it is the mean over the batch of

    .. math::

        -\sum_k q_k (1 - p_k)^\gamma \log p_k,

    which is cross-entropy for a ``gamma`` of 0.

    Args:
        logits: shape (n, K).
        targets: int64 labels, shape (n,), or probabilities of the classes, shape (n, K).
        gamma: at least 0; 1 to 3 are usual.

    Returns:
        One number, in nats.

    Raises:
        ValueError: if ``gamma`` is below 0 or not finite.

    Source: Lin et al. 2017, "Focal Loss for Dense Object Detection", equation 4; Mukhoti et al.
    2020, "Calibrating Deep Neural Networks using Focal Loss".

    Example:
        >>> import torch
        >>> logits, labels = torch.tensor([[3.0, 0.0]]), torch.tensor([0])
        >>> [round(float(focal_loss(logits, labels, gamma)), 4) for gamma in (0, 1, 3)]
        [0.0486, 0.0023, 0.0]
    """
    if not 0 <= gamma < math.inf:
        raise ValueError(f"gamma: expected a number of at least 0, found {gamma}")
    if gamma == 0:
        return F.cross_entropy(logits, targets)
    log_probs = F.log_softmax(logits, dim=1)
    # 1 - p without a loss of digits near 1; a power below 1 of 0 would have no slope there.
    others = (-torch.expm1(log_probs)).clamp(min=torch.finfo(log_probs.dtype).tiny)
    terms = others**gamma * log_probs
    if targets.ndim == 1:
        return F.nll_loss(terms, targets)
    return -(targets * terms).sum(dim=1).mean()
