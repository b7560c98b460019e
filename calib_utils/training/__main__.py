"""The command line that trains a network and stores its predictions.

Run it as ``python -m calib_utils.training --help``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import torch

from calib_utils.records import PredictionRecord, save_record
from calib_utils.records.names import dataset_name
from calib_utils.records.predictions import record_path
from calib_utils.records.recipe import DIGITS_RECIPE, Recipe
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.data import load_splits
from calib_utils.training.devices import choose_device, environment
from calib_utils.training.loop import predict_logits, train
from calib_utils.training.networks import NETWORKS, build_model


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, or continue training, then write the validation and the test record."""
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        # A bad name fails now, not in an hour.
        record_path(args.record, "test", args.folder or Path())
        _run(args)
    except (ValueError, OSError, FloatingPointError) as error:
        parser.exit(1, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\nStopped. The same command continues after the last complete epoch.\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m calib_utils.training",
        description="Train a network with the course's recipe and store its predictions. A run "
        "that was stopped continues from its checkpoint when the same command is given again; "
        "a complete one only writes its records.",
    )
    add = parser.add_argument
    add("--model", choices=NETWORKS, required=True)
    add("--dataset", choices=("cifar100", "digits"), default="cifar100")
    add("--epochs", type=int, help="default: 30 (digits: 60)")
    add(
        "--learning-rate",
        type=float,
        help="at the start, later divided by ten, twice; default: 0.1 (digits: 0.02)",
    )
    add(
        "--schedule",
        choices=("steps", "one-cycle"),
        help="of the learning rate; one-cycle grows to it and falls to 0 (default: steps)",
    )
    add("--seed", type=int, default=0, help="of weights, order and crops (default: %(default)s)")
    add("--device", help="cpu or cuda (default: the GPU if there is one)")
    add("--checkpoint", type=Path, required=True, help="file that is rewritten after each epoch")
    add("--record", required=True, metavar="NAME", help="name of the records to write")
    add("--folder", type=Path, help="where to write them (default: here)")
    return parser


def _run(args: argparse.Namespace) -> None:
    device = choose_device(args.device)
    asked = {name: getattr(args, name) for name in ("epochs", "learning_rate", "schedule")}
    recipe = replace(
        DIGITS_RECIPE if args.dataset == "digits" else Recipe(),
        **{name: value for name, value in asked.items() if value is not None},
    )
    training, validation, test = load_splits(args.dataset)
    torch.manual_seed(args.seed)
    model = build_model(args.model, n_classes=int(training.labels.max()) + 1)
    history = train(
        model, training, recipe, seed=args.seed, device=device, checkpoint=args.checkpoint
    )
    facts = read_facts(args.checkpoint)
    made = facts.get("environment") or environment(device)
    seconds = median(entry["seconds"] for entry in history)

    print(f"predicting {len(validation):,} validation and {len(test):,} test images", flush=True)
    logits = {}
    for split, data in (("validation", validation), ("test", test)):
        z = predict_logits(model, data, device=device).astype(np.float64)
        # As the record stores them, so that its accuracy is the one that it states.
        logits[split] = (z - z.max(axis=1, keepdims=True)).astype(np.float16)
    accuracy = float((logits["test"].argmax(axis=1) == test.labels).mean())
    for split, data in (("validation", validation), ("test", test)):
        path = save_record(
            PredictionRecord(
                name=args.record,
                split=split,
                logits=logits[split],
                labels=data.labels,
                model=args.model,
                dataset=f"{len(training):,} training images of {dataset_name(args.dataset)}",
                recipe=facts["recipe"],
                seed=args.seed,
                epochs=len(history),
                versions=made["versions"],
                hardware=made["hardware"],
                date=made["date"],
                test_accuracy=accuracy,
                seconds_per_epoch=seconds,
            ),
            args.folder,
        )
        print(f"wrote {path}")
    print(f"test accuracy {accuracy:.2%}")


if __name__ == "__main__":
    main()
