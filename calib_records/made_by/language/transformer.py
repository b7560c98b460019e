"""A small language model: a transformer that predicts the next character."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

__all__ = ["Transformer", "transformer"]

# The keys and values of each block for all characters so far, to which the next one attends.
Past = list[tuple[torch.Tensor, torch.Tensor]]


def transformer(
    width: int = 128, depth: int = 4, heads: int = 4, length: int = 128, n_classes: int = 65
) -> nn.Module:
    """A transformer that predicts the distribution of the next character at each one of a text.

    Layer normalisation comes before attention and before the two linear layers (as in GPT-2), the
    position embeddings are learned, and there is no dropout.

    Args:
        width: the size of a character's embedding; a multiple of ``heads``.
        depth: the number of blocks.
        heads: the number of attention heads in each block.
        length: the largest number of characters in its input.
        n_classes: the number of characters in the alphabet.

    Raises:
        ValueError: if the width is not a multiple of the heads, or one of them is below 1.

    Source: Vaswani et al. 2017, "Attention Is All You Need"; Radford et al. 2019, "Language
    Models are Unsupervised Multitask Learners", for the place of the normalisation.

    Example:
        >>> import torch
        >>> model = transformer(width=8, depth=1, heads=2, length=16, n_classes=5)
        >>> model(torch.zeros(3, 10, dtype=torch.long)).shape
        torch.Size([3, 10, 5])
    """
    if min(width, depth, heads, length) < 1 or width % heads:
        raise ValueError(
            "width: expected a multiple of heads, and all of them at least 1, found width "
            f"{width}, depth {depth}, heads {heads}, length {length}"
        )
    return Transformer(width, depth, heads, length, n_classes)


class Transformer(nn.Module):
    """See `transformer`."""

    def __init__(self, width: int, depth: int, heads: int, length: int, n_classes: int):
        super().__init__()
        self.characters = nn.Embedding(n_classes, width)
        self.places = nn.Embedding(length, width)
        for embedding in (self.characters, self.places):
            nn.init.normal_(embedding.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.last = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, n_classes))

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """The logits of the next character (n, length, K) after each of ``codes`` (n, length)."""
        return self.step(codes)[0]

    def step(self, codes: torch.Tensor, past: Past | None = None) -> tuple[torch.Tensor, Past]:
        """The logits after each of ``codes``, which follow the characters in ``past``."""
        start = past[0][0].shape[2] if past else 0
        places = torch.arange(start, start + codes.shape[1], device=codes.device)
        x = self.characters(codes) + self.places(places)
        seen = []
        for number, block in enumerate(self.blocks):
            x, pair = block(x, past[number] if past else None)
            seen.append(pair)
        return self.last(x), seen

    @torch.no_grad()
    def sample(
        self, prompts: torch.Tensor, n: int, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """``prompts`` (m, length) and ``n`` further characters, drawn from their distributions."""
        texts, new, past = prompts, prompts, None
        for _ in range(n):
            logits, past = self.step(new, past)
            probs = logits[:, -1].float().softmax(dim=1)
            new = torch.multinomial(probs, 1, generator=generator)
            texts = torch.cat([texts, new], dim=1)
        return texts


class Block(nn.Module):
    """Attention to the characters so far, then two linear layers; both added to the input."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.normalised = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mixed = nn.Linear(width, width)
        self.thought = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """The block's output for x (n, length, width), and all keys and values so far.

        With a ``past``, x has only one character, because several would see those ahead of them.
        """
        n, length, width = x.shape
        projected = self.queries_keys_values(self.normalised(x))
        queries, keys, values = projected.view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        attended = F.scaled_dot_product_attention(queries, keys, values, is_causal=past is None)
        x = x + self.mixed(attended.transpose(1, 2).reshape(n, length, width))
        return x + self.thought(x), (keys, values)
