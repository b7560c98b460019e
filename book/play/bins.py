"""One network has many ECEs, and a calibrated one has some: `python -m book.play.bins TARGET`.

First the number of bins, of equal width or equal mass, of both networks; then the predictions of a
calibrated model, drawn again and again.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import softmax

from calib_utils.metrics import (
    baseline_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    reliability_bins,
    top_label,
)
from calib_utils.records import load_record
from tools.finishing.interactive import (
    FEW,
    WORDS,
    Json,
    again,
    axis,
    choice,
    curve,
    diagram,
    frame,
    lines,
    number,
    play,
    slider,
    table,
    write,
)

NETWORKS = {"ResNet-34": "resnet34-cifar100", "LeNet-5": "lenet5-cifar100"}
STRATEGIES = {"equal width": "uniform", "equal mass": "quantile"}
N_BINS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100]
SIZES = [100, 200, 500, 1000, 2000, 5000, 10_000]
N_DRAWS = 20


def predictions(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Confidences of a network on the test images, and which of its predictions are correct."""
    record = load_record(NETWORKS[name], "test")
    return top_label(softmax(record.logits, axis=1), record.labels)


def number_of_bins() -> Json:
    """The ECE of the same predictions in other bins."""
    frames, printed, eces, baselines = [], [], [], []
    for network, kind in product(NETWORKS, STRATEGIES.values()):
        confidences, correct = predictions(network)
        labels = correct.astype(int)
        of_kind = []
        for m in N_BINS:
            bins = reliability_bins(confidences, correct, m, kind)
            frames.append(frame(bins, edges=kind == "quantile"))
            ece = 100 * expected_calibration_error(confidences, labels, m, kind)
            mce = 100 * maximum_calibration_error(confidences, labels, m, kind)
            baseline = 100 * baseline_calibration_error(confidences, m, strategy=kind).mean
            few = int(((bins.counts > 0) & (bins.counts < FEW)).sum())
            of_kind.append((ece, baseline))
            printed.append([*(WORDS.format(one) for one in (ece, baseline, mce)), str(few)])
        of_ece, of_baseline = zip(*of_kind, strict=True)
        eces.append(of_ece)
        baselines.append(of_baseline)
    by = [0, 1, 2]
    names = ["ECE", "baseline ECE", "MCE", f"bars under {FEW}"]
    places = np.log10(N_BINS).tolist()
    ticks = [(float(np.log10(m)), str(m)) for m in (1, 2, 5, 10, 20, 50, 100)]
    return play(
        ["fig-number-of-bins"],
        "The same predictions in other bins",
        "How much of an ECE comes from the bins? Choose the network, and move the number of bins. "
        "Dashed: the baseline, which is the mean ECE of perfectly calibrated models with the same "
        f"confidences. Pale bars have fewer than {FEW} predictions.",
        "Reliability diagram in the chosen bins, with a strip of counts above it. Beside it the "
        "ECE against the number of bins, with a dot at the chosen one, and below it the baseline, "
        "which grows with the number of bins.",
        [
            choice("Network", list(NETWORKS)),
            choice("Bins of", list(STRATEGIES)),
            slider("Number of bins", [str(m) for m in N_BINS], N_BINS.index(15)),
        ],
        [number(n, of, by) for n, of in zip(names, zip(*printed, strict=True), strict=True)],
        [
            diagram(table(frames, by), few=FEW, relative=True),
            lines(
                "ECE in %",
                axis(0, 2, ticks, "Number of bins"),
                axis(0, 9, [(y, str(y)) for y in (0, 2, 4, 6, 8)]),
                [
                    curve(places, table(baselines, [0, 1]), "baseline", "c", digits=2),
                    curve(places, table(eces, [0, 1]), "", "a", digits=2, moves=True),
                ],
                at=2,
                height=330,
            ),
        ],
    )


def drawn_again() -> Json:
    """Predictions of a calibrated model: chance draws which of them are correct."""
    rng = np.random.default_rng(seed=0)
    confidences = rng.permutation(predictions("ResNet-34")[0].astype(float))
    frames, eces, baselines = [], [], []
    for n in SIZES:
        some, of_n = confidences[:n], []
        for _ in range(N_DRAWS):
            drawn = rng.random(n) < some
            frames.append(frame(reliability_bins(some, drawn)))
            of_n.append(100 * expected_calibration_error(some, drawn.astype(int)))
        eces.append(of_n)
        baselines.append(100 * baseline_calibration_error(some).mean)
    draws = list(range(1, N_DRAWS + 1))
    high = max(map(max, eces)) * 1.1
    up = axis(0, high, [(y, str(y)) for y in range(0, 100, 5)])
    ticks = [(float(np.log10(n)), f"{n:,}") for n in (100, 1000, 10_000)]
    return play(
        ["fig-one-draw"],
        "A calibrated model",
        "A model with the confidences of ResNet-34 that is perfectly calibrated, because chance "
        "draws which predictions are correct. Draw again, or change the number of predictions: "
        "the ECE is never 0. Dashed: the baseline, which is its mean over many draws.",
        "Reliability diagram of a calibrated model on as many predictions as chosen. Beside it "
        "the ECE of twenty draws, none of them 0, and the baseline against the number of "
        "predictions: it falls as they grow in number.",
        [
            slider("Number of predictions", [f"{n:,}" for n in SIZES], 3),
            again("Draw again", [f"draw {k} of {N_DRAWS}" for k in draws]),
        ],
        [
            number("ECE of this draw", [WORDS.format(e) for of in eces for e in of], [0, 1]),
            number("baseline ECE", [WORDS.format(baseline) for baseline in baselines], [0]),
            number("lowest of the draws", [WORDS.format(min(of)) for of in eces], [0]),
            number("highest of the draws", [WORDS.format(max(of)) for of in eces], [0]),
        ],
        [
            diagram(table(frames, [0, 1]), relative=True),
            lines(
                "ECE in %",
                axis(0, N_DRAWS + 1, [(k, str(k)) for k in (1, 5, 10, 15, 20)], "Draw"),
                up,
                [
                    curve(
                        [0, N_DRAWS + 1], table([[f, f] for f in baselines], [0]), "baseline", "c"
                    ),
                    curve(draws, table(eces, [0]), "", "a", digits=2, dots="o", moves=True),
                ],
                at=1,
            ),
            lines(
                "Baseline ECE in %",
                axis(2, 4, ticks, "Number of predictions"),
                up,
                [curve(np.log10(SIZES).tolist(), table([baselines]), "", "a", moves=True)],
                at=0,
            ),
        ],
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), [number_of_bins(), drawn_again()])
