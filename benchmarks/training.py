"""An epoch of the course's training beside one of the script that it grew from, in one run.

The script trains as most tutorials do: images are cropped, flipped and normalised one by one
by torchvision's transforms in the workers of a DataLoader, all arithmetic is in float32, and
the loss and the number of hits are read back at each step. Both train ResNet-34 with the same
recipe on the same images, and their epochs take turns. It needs CIFAR-100, and

    python benchmarks/training.py

prints a table and writes it to ``benchmarks/results/training.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

from calib_utils.data import ImageSet, load_splits
from calib_utils.devices import choose_device, environment
from calib_utils.models import build_model
from calib_utils.training import Recipe, predict_logits, train

RESULTS = Path(__file__).parent / "results" / "training.json"
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
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimiser, step_size=10, gamma=0.1)

    def epoch(self) -> float:
        """Train for one epoch; returns its seconds."""
        start = time.perf_counter()
        criterion = nn.CrossEntropyLoss()
        loss_sum, hits = 0.0, 0
        self.model.train()
        for images, labels in self.loader:
            images, labels = images.to(self.device), labels.to(self.device)
            loss = criterion(logits := self.model(images), labels)
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            loss_sum += loss.item()
            hits += (logits.argmax(dim=1) == labels).sum().item()
        self.scheduler.step()
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the images, to try it out")
    parser.add_argument("--workers", type=int, default=8, help="of the script's DataLoader")
    args = parser.parse_args()

    device, recipe = choose_device(), Recipe(epochs=args.epochs)
    training, _, test = (
        part.subset(slice(max(1, round(args.fraction * len(part)))))
        for part in load_splits("cifar100")
    )
    torch.manual_seed(0)
    script = Script(training, recipe, args.workers, device)
    script_seconds: list[float] = []

    def script_epoch(_: nn.Module) -> dict[str, float]:
        script_seconds.append(script.epoch())
        return {}

    torch.manual_seed(0)
    model = build_model("resnet34")
    history = train(model, training, recipe, device=device, after_epoch=script_epoch)
    seconds = {SCRIPT: script_seconds, OURS: [entry["seconds"] for entry in history]}

    rows = []
    for name, network in ((SCRIPT, script.model), (OURS, model)):
        predicted = predict_logits(network, test, device=device).argmax(axis=1)
        rows.append(
            {
                "name": name,
                "seconds_per_epoch": seconds[name],
                "images_per_second": len(training) / median(seconds[name]),
                "times_the_script": median(script_seconds) / median(seconds[name]),
                "test_accuracy": float((predicted == test.labels).mean()),
            }
        )
    made = environment(device) | {
        "threads": torch.get_num_threads(),
        "workers": args.workers,
        "epochs": args.epochs,
        "training_images": len(training),
        "test_images": len(test),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(made | {"rows": rows}, indent=2) + "\n")

    print(f"ResNet-34, {len(training):,} images, {args.epochs} epochs; {made['hardware']}\n")
    print("| | s an epoch | images/s | times the script | test accuracy |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['name']} | {median(row['seconds_per_epoch']):.1f} "
            f"| {row['images_per_second']:.0f} | {row['times_the_script']:.2f} "
            f"| {row['test_accuracy']:.1%} |"
        )


if __name__ == "__main__":
    main()
