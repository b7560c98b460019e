"""An epoch of the course's training beside one of the script that it grew from, in one run.

The script trains as most tutorials do: images are cropped, flipped and normalised one by one
by torchvision's transforms in the workers of a DataLoader, all arithmetic is in float32, and
the loss and the number of hits are read back at each step. Both train the lab's ResNet-34 on the
same images of CIFAR-100, and their epochs take turns.

    python -m benchmarks.training          # some ten minutes

writes what it finds to ``benchmarks/results/training.json``.
"""

from __future__ import annotations

import argparse
import time

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from benchmarks.measured import store
from calib_utils.training import Recipe, train
from calib_utils.training.data import ImageSet, load_splits
from calib_utils.training.devices import choose_device, environment
from calib_utils.training.networks import build_model


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
    """The script's data and optimiser, and a network, to be called once for each epoch."""

    def __init__(
        self, model: nn.Module, data: ImageSet, recipe: Recipe, workers: int, device: torch.device
    ):
        self.model, self.device = model.to(device), device
        self.loader = DataLoader(
            Pictures(data), batch_size=recipe.batch_size, shuffle=True, num_workers=workers
        )
        self.optimiser = torch.optim.SGD(
            self.model.parameters(),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
        )

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
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--images", type=int, default=2_000, help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=8, help="of the script's DataLoader")
    args = parser.parse_args()
    training, _, _ = load_splits("cifar100")
    training = training.subset(slice(args.images))
    device = choose_device()
    recipe = Recipe(epochs=args.epochs, milestones=())
    script = Script(build_model("resnet34"), training, recipe, args.workers, device)
    history = train(
        build_model("resnet34"),
        training,
        recipe,
        device=device,
        after_epoch=lambda _: {"script": script.epoch()},
    )
    about = {"threads": torch.get_num_threads(), "workers": args.workers}
    about |= {"epochs": args.epochs, "training_images": len(training)}
    rows = [
        {"name": name, "seconds": [entry[key] for entry in history]}
        for name, key in (("the script", "script"), ("calib_utils", "seconds"))
    ]
    store("training", environment(device) | about | {"rows": rows})


if __name__ == "__main__":
    main()
