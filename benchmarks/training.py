"""The course's training beside that of the script that it grew from, in one run.

The script trains as most tutorials do: images are cropped, flipped and normalised one by one
by torchvision's transforms in the workers of a DataLoader, all arithmetic is in float32, and
the loss and the number of hits are read back at each step. Both train ResNet-34 with the same
recipe on the same images, from several seeds, and their epochs take turns. Like the script's,
the learning rate drops after a third and after two thirds of the epochs, however many there
are. It needs CIFAR-100, and

    python -m benchmarks.training

writes what it finds to ``benchmarks/results/training.json``, where a run on a CPU and one on a GPU
have a place each. The file is written after each seed.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from PIL import Image
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

from benchmarks.measured import store
from benchmarks.tables import stored
from calib_utils.training import Recipe, predict_logits, train
from calib_utils.training.data import ImageSet, load_splits, train_validation_split
from calib_utils.training.devices import choose_device, environment
from calib_utils.training.networks import build_model

SCRIPT, OURS = "the script", "calib_utils"


class Pictures(Dataset):
    """Images one by one, as torchvision's own data set gives them."""

    def __init__(self, data: ImageSet):
        self.data = data
        self.transform = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(data.mean, data.std),
            ]
        )

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(Image.fromarray(self.data.images[index])), self.data.labels[index]


class Script:
    """The script's network, data and optimiser, to be called once for each epoch."""

    def __init__(self, data: ImageSet, recipe: Recipe, workers: int, device: torch.device):
        self.device = device
        self.loader = DataLoader(
            Pictures(data), batch_size=recipe.batch_size, shuffle=True, num_workers=workers
        )
        self.model = models.resnet34(weights=None)
        self.model.fc = nn.Linear(self.model.fc.in_features, 100)
        self.model.to(device)
        self.optimiser = torch.optim.SGD(
            self.model.parameters(),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
        )
        self.scheduler = MultiStepLR(self.optimiser, recipe.milestones, gamma=0.1)

    def epoch(self) -> float:
        """Train for one epoch; returns its seconds."""
        start = time.perf_counter()
        criterion = nn.CrossEntropyLoss()
        loss_sum, hits = 0.0, 0
        self.model.train()
        for images, labels in self.loader:
            images, labels = images.to(self.device), labels.to(self.device)
            self.optimiser.zero_grad()
            logits = self.model(images)
            loss = criterion(logits, labels)
            loss.backward()
            self.optimiser.step()
            loss_sum += loss.item()
            hits += (logits.argmax(dim=1) == labels).sum().item()
        self.scheduler.step()
        return time.perf_counter() - start


def train_both(
    seed: int, data: ImageSet, recipe: Recipe, workers: int, device: torch.device
) -> dict[str, tuple[nn.Module, list[float]]]:
    """Train the script's network and ours in turns; returns each with its seconds an epoch."""
    torch.manual_seed(seed)
    script = Script(data, recipe, workers, device)
    script_seconds: list[float] = []

    def script_epoch(_: nn.Module) -> dict[str, float]:
        script_seconds.append(script.epoch())
        return {}

    torch.manual_seed(seed)
    model = build_model("resnet34", image_size=224)  # as torchvision has it
    history = train(model, data, recipe, seed=seed, device=device, after_epoch=script_epoch)
    return {
        SCRIPT: (script.model, script_seconds),
        OURS: (model, [entry["seconds"] for entry in history]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--epochs", type=int, default=30, help="at least 3; default: %(default)s")
    parser.add_argument("--images", type=int, default=45_000, help="to train on; all by default")
    parser.add_argument("--workers", type=int, default=8, help="of the script's DataLoader")
    args = parser.parse_args()
    training, _, test = load_splits("cifar100")
    if args.images < len(training):
        # Chosen as in the experiments: at random, and the same in every run.
        training = training.subset(train_validation_split(len(training), args.images)[1])
    device = choose_device()
    recipe = Recipe(epochs=args.epochs, milestones=(args.epochs // 3, 2 * args.epochs // 3))
    made = environment(device) | {
        "threads": torch.get_num_threads(),
        "workers": args.workers,
        "epochs": recipe.epochs,
        "milestones": recipe.milestones,
        "training_images": len(training),
        "test_images": len(test),
    }
    rows: dict[str, dict[str, Any]] = {
        name: {"name": name, "seconds": [], "test_accuracies": []} for name in (SCRIPT, OURS)
    }
    for seed in range(args.seeds):
        trained = train_both(seed, training, recipe, args.workers, device)
        for name, (network, seconds) in trained.items():
            predicted = predict_logits(network, test, device=device).argmax(axis=1)
            rows[name]["seconds"].append(seconds)
            rows[name]["test_accuracies"].append(float((predicted == test.labels).mean()))
        # After each seed, so that a run that is killed keeps those that it has.
        store("training", stored("training") | {device.type: made | {"rows": [*rows.values()]}})


if __name__ == "__main__":
    main()
