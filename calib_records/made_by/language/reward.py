"""Fine-tune a language model towards a reward, as chat models are, with or without a KL penalty.

A chat model is trained to write text that raters like. Here the rater is a rule that likes plain
words. It represents any score that depends on the text, and not on the model's confidence in it.
"""

from __future__ import annotations

import re
from collections import Counter
from copy import deepcopy
from typing import Any

import torch
from calib_utils.training.text import TextSet

from calib_utils.records import Recipe
from calib_utils.training.devices import arithmetic, choose_device

__all__ = ["common_words", "fine_tune", "plain_words"]

_PROMPT, _WRITTEN = 32, 64  # characters of the prompt, and characters that the model adds
_CONTINUATIONS = 64  # at each step
_WORDS = re.compile(r"[a-z']+")


def common_words(texts: TextSet, n: int = 100) -> frozenset[str]:
    """The ``n`` most frequent words of a text, in lower case.

    Example:
        >>> from calib_utils.training import load_shakespeare
        >>> sorted(common_words(load_shakespeare()[0], n=3))
        ['and', 'the', 'to']
    """
    counts = Counter[str]()
    for window in texts.windows:
        # The first and the last word of a window may be cut.
        counts.update(_WORDS.findall(texts.text(window).lower())[1:-1])
    return frozenset(word for word, _ in counts.most_common(n))


def plain_words(text: str, words: frozenset[str]) -> float:
    """The reward: the share of the characters of ``text`` that are in one of ``words``, 0 to 1.

    Example:
        >>> plain_words("The moon", frozenset({"the"}))
        0.375
    """
    found = _WORDS.findall(text.lower())
    return sum(len(word) for word in found if word in words) / max(len(text), 1)


def fine_tune(
    model: Any,
    data: TextSet,
    recipe: Recipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
) -> dict[str, Any]:
    r"""Train ``model`` in place to write rewarded text, by REINFORCE.

    At each step it continues prompts from the text. Each continuation y has the score

    .. math::

        r(y) - \beta \frac1L \sum_{i=1}^L \log \frac{p(y_i)}{p_0(y_i)},

    of the reward r (`plain_words`) and a penalty of weight :math:`\beta` for moving away from the
    model's initial distribution p0; the mean of the penalty is a Kullback-Leibler divergence per
    character. The log-probabilities of continuations that score above the batch's mean are raised,
    and those of the rest lowered, in proportion to their distance in standard deviations.

    Args:
        model: a `calib_utils.training.transformer` that was trained on the text.
        data: its training windows, from which prompts and the commonest words are taken.
        recipe: its ``reward_steps``, ``kl_price``, ``learning_rate`` and ``weight_decay``.
        seed: of the prompts and the draws.
        device: where to train; the GPU if there is one, by default.

    Returns:
        The mean "reward" and "kl", in nats per character, of each step; and as "sample" the first
        text of the last one, including its prompt.

    Source: Williams 1992, "Simple statistical gradient-following algorithms for connectionist
    reinforcement learning"; Ziegler et al. 2019, "Fine-Tuning Language Models from Human
    Preferences", equation 2, for the penalty.

    Example:
        >>> from calib_utils.training import build_model, load_shakespeare
        >>> training, _, _ = load_shakespeare()
        >>> model = build_model("transformer", n_classes=65, width=8, depth=1)
        >>> recipe = Recipe(reward_steps=2, learning_rate=1e-3)
        >>> found = fine_tune(model, training, recipe, device="cpu")
        >>> len(found["reward"]), len(found["kl"]), len(found["sample"])
        (2, 2, 96)
    """
    place = choose_device(device)
    dtype = arithmetic(place)
    model.to(place)
    frozen = deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
    )
    words = common_words(data)
    windows = torch.from_numpy(data.windows)[:, :_PROMPT].long()
    drawn = torch.Generator().manual_seed(seed)  # of prompts
    written = torch.Generator(place).manual_seed(seed)  # of characters
    found: dict[str, Any] = {"reward": [], "kl": [], "sample": ""}
    for _ in range(recipe.reward_steps):
        rows = torch.randint(len(windows), (_CONTINUATIONS,), generator=drawn)
        with torch.autocast(place.type, dtype, enabled=dtype == torch.bfloat16):
            texts = model.sample(windows[rows].to(place), _WRITTEN, written)
            log_probs = _log_probs(model, texts)
            moved = (log_probs - _log_probs(frozen, texts)).detach().mean(dim=1)
        rewards = torch.tensor(
            [plain_words(data.text(text), words) for text in texts[:, _PROMPT:].tolist()],
            device=place,
        )
        scores = rewards - recipe.kl_price * moved
        advantages = (scores - scores.mean()) / (scores.std() + 1e-6)
        loss = -(advantages[:, None] * log_probs).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        found["reward"].append(float(rewards.mean()))
        found["kl"].append(float(moved.mean()))
        found["sample"] = data.text(texts[0].tolist())
    model.eval()
    return found


def _log_probs(model: Any, texts: torch.Tensor) -> torch.Tensor:
    """The log-probability of each character added to the prompts, shape (n, _WRITTEN)."""
    logits = model(texts[:, :-1])[:, _PROMPT - 1 :].float()
    return logits.log_softmax(dim=2).gather(2, texts[:, _PROMPT:, None])[..., 0]
