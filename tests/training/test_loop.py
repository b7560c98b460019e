"""`train` against a loop that is written out, and `predict_logits` against torchvision."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from calib_utils.training import Recipe, loop, predict_logits, train
from calib_utils.training.batches import Batches, epoch_draws
from calib_utils.training.networks import lenet5
from tests.training.small import SHORT, network, random_images, weights


@pytest.fixture
def float32(monkeypatch):
    monkeypatch.setattr(loop, "arithmetic", lambda device: torch.float32)


def plain_loop(recipe: Recipe, seed: int) -> tuple[torch.Tensor, list[float], list[float]]:
    """Weights, losses and accuracies, with our crops and flips."""
    data, model = random_images(), network()
    made = Batches(data, torch.device("cpu"), padding=4)
    optimizer = torch.optim.SGD(model.parameters(), 1, recipe.momentum, weight_decay=5e-4)
    losses, accuracies = [], []
    for epoch in range(3):
        order, draws = epoch_draws(64, recipe, seed, epoch)
        in_epoch, right = 0.0, 0
        for step, places in enumerate(torch.arange(64).split(24)):
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate_at(epoch + 24 * step / 64)
            labels = made.labels[order[places]]
            z = model(made.augmented(order[places], draws[:, places]))
            loss = F.cross_entropy(z, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            in_epoch += loss.item() * len(labels)
            right += int((z.argmax(dim=1) == labels).sum())
        losses.append(in_epoch / 64)
        accuracies.append(right / 64)
    return weights(model), losses, accuracies


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"momentum": 0.0},
        {"schedule": "one-cycle"},
    ],
)
@pytest.mark.usefixtures("float32")
def test_train_equals_a_plain_loop(own):
    recipe = replace(SHORT, **own)
    expected, losses, accuracies = plain_loop(recipe, seed=7)
    trained = network()
    history = train(trained, random_images(), recipe, seed=7, progress=False)
    assert [x["train_loss"] for x in history] == pytest.approx(losses, rel=1e-5)
    assert [x["train_accuracy"] for x in history] == pytest.approx(accuracies)
    torch.testing.assert_close(weights(trained), expected, rtol=1e-4, atol=1e-6)


def test_train_returns_an_entry_for_each_epoch():
    seen = []

    def after_epoch(model: nn.Module) -> dict[str, float]:
        seen.append(model.training)
        return {"validation_accuracy": len(seen) / 10}

    model = network()
    history = train(model, random_images(), SHORT, after_epoch=after_epoch, progress=False)
    assert seen == [False] * 3
    assert not model.training
    assert [entry["epoch"] for entry in history] == [1, 2, 3]
    assert [entry["learning_rate"] for entry in history] == pytest.approx([0.05, 5e-3, 5e-3])
    assert [entry["validation_accuracy"] for entry in history] == [0.1, 0.2, 0.3]
    assert all(entry["seconds"] > 0 for entry in history)


def test_train_seeds_no_two_epochs_alike(monkeypatch):
    """Seed 1 must not begin where seed 0 goes on."""
    seeded, model, sow = [], network(), torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: seeded.append(seed) or sow(seed))
    for seed in range(3):
        train(model, random_images(), SHORT, seed=seed, progress=False)
    assert len(set(seeded)) == len(seeded) == 3 * SHORT.epochs


@pytest.mark.parametrize("loss", [float("inf"), float("nan")])
def test_train_stops_at_a_loss_that_is_not_finite(monkeypatch, loss):
    monkeypatch.setattr(F, "cross_entropy", lambda logits, labels: 0 * logits.sum() + loss)
    message = f"the training loss is {loss} in epoch 1: try a lower learning rate"
    with pytest.raises(FloatingPointError, match=message):
        train(network(), random_images(), SHORT, progress=False)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_train_refuses_a_bad_seed(seed):
    with pytest.raises(ValueError, match=f"seed: expected 0 to 4294967295, found {seed}"):
        train(network(), random_images(), SHORT, seed=seed)


def test_train_refuses_too_few_outputs_and_takes_more():
    with pytest.raises(ValueError, match=r"model: expected at least 10 outputs.*found 5"):
        train(lenet5(5), random_images(), SHORT, progress=False)
    assert len(train(lenet5(12), random_images(), SHORT, progress=False)) == 3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_train_multiplies_in_the_arithmetic_of_the_device(monkeypatch, dtype):
    monkeypatch.setattr(loop, "arithmetic", lambda device: dtype)
    model, seen = network(), []
    model.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    train(model, random_images(), replace(SHORT, epochs=1), device="cpu", progress=False)
    assert seen == [dtype] * 3
    assert weights(model).dtype == torch.float32


def test_predict_logits_equals_the_network_on_normalised_images():
    from torchvision.transforms import functional as TF

    data, model = random_images(10), network()
    images = torch.from_numpy(data.images).permute(0, 3, 1, 2) / 255
    with torch.no_grad():
        expected = model(TF.normalize(images, data.mean, data.std)).numpy()
    for batch_size in (1, 4, 1000):
        found = predict_logits(model, data, device="cpu", batch_size=batch_size)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert found.dtype == np.float32


def test_predict_logits_switches_dropout_off():
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(3072, 10)).train()
    a, b = (predict_logits(model, random_images(5), device="cpu") for _ in range(2))
    assert (a == b).all()
