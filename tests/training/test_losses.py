"""Losses, mixup, averages and early stopping, against formulas and plain loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from calib_utils.records import Recipe
from calib_utils.training import label_smoothing, loop, mixup, predict_logits, train
from calib_utils.training.batches import Batches, epoch_draws
from calib_utils.training.losses import focal_loss
from calib_utils.training.timing import time_epoch
from tests.training.test_loop import (
    SHORT,
    network,
    random_images,
    train_and_stop,
    weights,
    without_times,
)

VALIDATION = random_images(30, seed=1)
# What only some recipes keep is resumed too: draws of mixup, the average, the best epoch.
REMEDIES = {
    "none": {},
    "no momentum": {"momentum": 0.0},
    "smoothing": {"label_smoothing": 0.1},
    "mixup": {"mixup_alpha": 0.4},
    "mixup and smoothing": {"mixup_alpha": 0.4, "label_smoothing": 0.2},
    "focal": {"focal_gamma": 2.0},
    "mixup and focal": {"mixup_alpha": 0.4, "focal_gamma": 1.0},
    "average": {"ema_decay": 0.8},
    "warm-up": {"warmup_epochs": 1},
    "early stopping": {"early_stopping": True},
    "average and early stopping": {"ema_decay": 0.8, "early_stopping": True},
}


@pytest.fixture(autouse=True)
def no_gpu_and_float32(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(loop, "arithmetic", lambda device: torch.float32)


@pytest.fixture
def logits() -> torch.Tensor:
    return 4 * torch.randn(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


LABELS = torch.tensor([0, 4, 2, 2, 1, 3])


class TestLosses:
    @pytest.mark.parametrize("smoothing", [0.0, 0.05, 0.5])
    def test_label_smoothing_equals_torchs(self, logits, smoothing):
        targets = label_smoothing(F.one_hot(LABELS, 5).double(), smoothing)
        expected = nn.CrossEntropyLoss(label_smoothing=smoothing)(logits, LABELS)
        torch.testing.assert_close(F.cross_entropy(logits, targets), expected)
        torch.testing.assert_close(targets.sum(dim=1), torch.ones(6, dtype=torch.float64))

    @pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 3.0])
    def test_focal_loss_equals_its_formula(self, logits, gamma):
        """Equation 4 of Lin et al., one image after the other."""
        total = 0.0
        for row, label in zip(logits.tolist(), LABELS.tolist(), strict=True):
            p = math.exp(row[label]) / sum(math.exp(z) for z in row)
            total -= (1 - p) ** gamma * math.log(p)
        found = focal_loss(logits, LABELS, gamma)
        assert float(found) == pytest.approx(total / 6)
        one_hot = F.one_hot(LABELS, 5).double()
        assert float(focal_loss(logits, one_hot, gamma)) == pytest.approx(total / 6)

    def test_focal_loss_without_gamma_is_torchs(self, logits):
        assert focal_loss(logits, LABELS, 0).equal(F.cross_entropy(logits, LABELS))

    @pytest.mark.parametrize("gamma", [0.5, 2.0])
    def test_focal_loss_of_a_sure_network_is_finite_and_so_is_its_gradient(self, gamma):
        logits = torch.tensor([[200.0, 0.0], [0.0, 200.0]], requires_grad=True)
        loss = focal_loss(logits, torch.tensor([0, 0]), gamma)
        loss.backward()
        assert loss.item() == pytest.approx(100)
        assert logits.grad.isfinite().all()

    def test_focal_loss_is_linear_in_its_targets(self, logits):
        first, second = (F.one_hot(x, 5).double() for x in (LABELS, LABELS.flip(0)))
        mixed = focal_loss(logits, 0.3 * first + 0.7 * second, 2.0)
        parts = 0.3 * focal_loss(logits, first, 2.0) + 0.7 * focal_loss(logits, second, 2.0)
        torch.testing.assert_close(mixed, parts)

    def test_mixup_mixes_pairs_of_the_batch(self):
        images = torch.arange(24.0).reshape(4, 3, 2)
        targets = torch.eye(4)
        mixed, shares = mixup(images, targets, 0.4, np.random.default_rng(5))
        assert shares.sum(dim=1).tolist() == pytest.approx([1.0] * 4)
        # The targets say which images were mixed, and in which ratio.
        expected = torch.einsum("ij,jkl->ikl", shares, images)
        torch.testing.assert_close(mixed, expected)
        ratio = np.random.default_rng(5).beta(0.4, 0.4)
        own = shares.diagonal()
        assert {round(float(x), 5) for x in own} <= {round(ratio, 5), 1.0}

    def test_mixups_ratio_has_the_moments_of_the_beta_distribution(self):
        rng = np.random.default_rng(0)
        images, targets = torch.zeros(2, 1), torch.eye(2)
        drawn = []
        while len(drawn) < 2_000:
            shares = mixup(images, targets, 0.2, rng)[1]
            if float(shares[0, 0]) < 1 or float(shares[1, 1]) < 1:  # not the identity
                drawn.append(float(shares[0, 0]))
        assert np.mean(drawn) == pytest.approx(0.5, abs=0.05)
        assert np.var(drawn) == pytest.approx(1 / (4 * (2 * 0.2 + 1)), abs=0.02)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda x: label_smoothing(x, 1.0), "smoothing: expected at least 0 and below 1"),
            (lambda x: label_smoothing(x, -0.1), "smoothing: expected .*, found -0.1"),
            (lambda x: label_smoothing(x[0], 0.1), r"targets: expected shape \(n, K\)"),
            (lambda x: focal_loss(x, x, -1), "gamma: expected a number of at least 0, found -1"),
            (lambda x: focal_loss(x, x, math.inf), "gamma: expected .*, found inf"),
            (lambda x: mixup(x, x, 0, None), "alpha: expected a number above 0, found 0"),
            (lambda x: mixup(x, x[1:], 1, None), r"targets: expected shape \(3, K\), one row"),
            (lambda x: mixup(x, x[:, 0], 1, None), r"targets: expected shape \(3, K\), one row"),
        ],
    )
    def test_bad_input(self, call, message):
        with pytest.raises(ValueError, match=message):
            call(torch.eye(3))


def plain_loop(recipe: Recipe, seed: int) -> tuple[nn.Module, list[float], list[float]]:
    """Network, losses and accuracies of a loop that is written out, with our crops and flips."""
    data, model = random_images(), network()
    made = Batches(data, torch.device("cpu"), padding=4)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.05, momentum=recipe.momentum, weight_decay=5e-4
    )
    losses, accuracies, average = [], [], None
    for epoch in range(3):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate_at(epoch)
        order, draws = epoch_draws(64, recipe, seed, epoch)
        rng, in_epoch, right = np.random.default_rng([seed, epoch]), 0.0, 0.0
        for places in torch.arange(64).split(24):
            images = made.augmented(order[places], draws[:, places])
            labels = made.labels[order[places]]
            ratio, partners = 1.0, torch.arange(len(labels))
            if recipe.mixup_alpha:
                ratio = rng.beta(recipe.mixup_alpha, recipe.mixup_alpha)
                partners = torch.from_numpy(rng.permutation(len(labels)))
            z = model(ratio * images + (1 - ratio) * images[partners])
            log_probs, e = z.log_softmax(dim=1), recipe.label_smoothing
            factor = (1 - log_probs.exp()) ** recipe.focal_gamma
            terms, loss = -factor * log_probs, 0.0
            for share, true in ((ratio, labels), (1 - ratio, labels[partners])):
                of_label = terms.gather(1, true[:, None])[:, 0]
                loss = loss + share * ((1 - e) * of_label + e * terms.mean(dim=1)).mean()
                right += share * float((z.argmax(dim=1) == true).sum())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            now, decay = weights(model), recipe.ema_decay
            average = now if average is None else decay * average + (1 - decay) * now
            in_epoch += loss.item() * len(labels)
        losses.append(in_epoch / 64)
        accuracies.append(right / 64)
    return average if recipe.ema_decay else weights(model), losses, accuracies


class TestTraining:
    @pytest.mark.parametrize("name", [x for x in REMEDIES if "stopping" not in x])
    def test_equals_a_plain_loop(self, name):
        recipe = replace(SHORT, **REMEDIES[name])
        expected, losses, accuracies = plain_loop(recipe, seed=7)
        trained = network()
        history = train(trained, random_images(), recipe, seed=7, progress=False)
        assert [x["train_loss"] for x in history] == pytest.approx(losses, rel=1e-5)
        assert [x["train_accuracy"] for x in history] == pytest.approx(accuracies)
        torch.testing.assert_close(weights(trained), expected, rtol=1e-4, atol=1e-6)

    def test_batch_statistics_are_averaged_too(self):
        def build() -> nn.Module:
            torch.manual_seed(0)
            layers = [nn.Conv2d(3, 4, 5, stride=4), nn.BatchNorm2d(4)]
            return nn.Sequential(*layers, nn.Flatten(), nn.Linear(196, 10))

        seen: list[torch.Tensor] = []
        model = build()
        model[1].register_forward_hook(lambda m, *_: seen.append(m.running_mean.clone()))
        recipe = replace(SHORT, epochs=1, ema_decay=0.5, batch_size=32)
        train(model, random_images(), recipe, progress=False)
        assert len(seen) == 2
        torch.testing.assert_close(model[1].running_mean, (seen[0] + seen[1]) / 2)

    def test_more_outputs_than_classes(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 12))
        recipe = replace(SHORT, mixup_alpha=0.4, label_smoothing=0.1, learning_rate=1e-3)
        history = train(model, random_images(), recipe, progress=False)
        assert all(math.isfinite(entry["train_loss"]) for entry in history)

    def test_early_stopping_ends_with_the_epoch_of_lowest_validation_nll(self):
        """Against a run of so many epochs only, which has nothing to validate on."""
        recipe = replace(SHORT, epochs=4, learning_rate=0.2, milestones=())
        history = train(network(), random_images(), recipe, validation=VALIDATION, progress=False)
        losses = [entry["validation_nll"] for entry in history]
        best = int(np.argmin(losses))
        assert best < 3, "the case decides nothing"
        short, stopped = network(), network()
        train(short, random_images(), replace(recipe, epochs=best + 1), progress=False)
        logits = predict_logits(short, VALIDATION).astype(np.float64)
        nll = F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(VALIDATION.labels))
        assert losses[best] == pytest.approx(float(nll))
        error = float((logits.argmax(axis=1) != VALIDATION.labels).mean())
        assert history[best]["validation_error"] == pytest.approx(error)
        found = train(
            stopped,
            random_images(),
            replace(recipe, early_stopping=True),
            validation=VALIDATION,
            progress=False,
        )
        assert weights(stopped).equal(weights(short))
        assert without_times(found) == without_times(history[: best + 1])

    def test_one_checkpoint_serves_with_and_without_early_stopping(self, tmp_path, monkeypatch):
        recipe = replace(SHORT, epochs=4, learning_rate=0.2, milestones=())
        stop = replace(recipe, early_stopping=True)
        options = {"validation": VALIDATION, "progress": False}
        expected = network()
        train(expected, random_images(), stop, **options)
        last, stopped = network(), network(seed=1)
        options["checkpoint"] = tmp_path / "run.safetensors"
        train(last, random_images(), recipe, **options)
        monkeypatch.setattr(loop, "_train_epoch", lambda *_: 1 / 0)
        train(stopped, random_images(), stop, **options)
        assert weights(stopped).equal(weights(expected))
        train(stopped, random_images(), recipe, **options)
        assert weights(stopped).equal(weights(last))

    def test_early_stopping_needs_images(self):
        recipe = replace(SHORT, early_stopping=True)
        with pytest.raises(ValueError, match="validation: early stopping needs images"):
            train(network(), random_images(), recipe, progress=False)
        assert time_epoch(network(), random_images(), recipe, validation=VALIDATION) > 0

    @pytest.mark.parametrize("name", REMEDIES)
    def test_stopped_run_ends_like_one_that_was_not(self, tmp_path, name):
        recipe, file = replace(SHORT, **REMEDIES[name]), tmp_path / "run.safetensors"
        whole, resumed = network(), network(seed=1)
        options = {"validation": VALIDATION, "progress": False}
        expected = train(whole, random_images(), recipe, **options)
        train_and_stop(network(), random_images(), recipe, file, 2, validation=VALIDATION)
        history = train(resumed, random_images(), recipe, checkpoint=file, **options)
        assert weights(resumed).equal(weights(whole))
        assert without_times(history) == without_times(expected)

    def test_checkpoint_that_lacks_what_the_run_keeps(self, tmp_path):
        options = {"checkpoint": tmp_path / "run.safetensors", "progress": False}
        train(network(), random_images(), SHORT, **options)
        with pytest.raises(ValueError, match="or of a run without the averages or the best"):
            train(network(), random_images(), SHORT, validation=VALIDATION, **options)
