"""One network has many ECEs, and a calibrated one has some: `python -m book.play.bins TARGET`.

First the number of bins, of equal width or equal mass, of both networks; then the predictions of a
calibrated model, drawn again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

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
from tools.finishing import interactive as ui
from tools.finishing.interactive import FEW, percent

NETWORKS = {"ResNet-34": "resnet34-cifar100", "LeNet-5": "lenet5-cifar100"}
STRATEGIES = {"equal width": "uniform", "equal mass": "quantile"}
N_BINS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100]
SIZES = [100, 200, 500, 1000, 2000, 5000, 10_000]
N_DRAWS = 20


def predictions(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Confidences of a network on the test images, and which of its predictions are correct."""
    record = load_record(NETWORKS[name], "test")
    return top_label(softmax(record.logits, axis=1), record.labels)


def worth(eces: Sequence[float]) -> list[str]:
    """What a guess of each number of bins was worth."""
    low, high = 0, int(np.argmax(eces))  # no bins give less than a single one

    def bins(k: int) -> str:
        return f"{N_BINS[k]} bin" + "s" * (N_BINS[k] != 1)

    if percent(eces[low]) == percent(eces[high]):
        why = "So it is with any other number: nearly all gaps are on the same side."
    else:
        why = (
            f"It is never lower than with {bins(low)}, {percent(eces[low])}, and highest with "
            f"{bins(high)}, {percent(eces[high])}: the same predictions each time."
        )
    return [f"With {bins(k)} the ECE is {percent(ece)}. {why}" for k, ece in enumerate(eces)]


def number_of_bins() -> ui.Json:
    """The ECE of the same predictions in other bins."""
    frames, shares, few = [], [], []
    for network, kind in product(NETWORKS, STRATEGIES.values()):
        confidences, correct = predictions(network)
        labels = correct.astype(int)
        for m in N_BINS:
            bins = reliability_bins(confidences, correct, m, kind)
            frames.append(ui.frame(bins, edges=kind == "quantile"))
            ece = expected_calibration_error(confidences, labels, m, kind)
            mce = maximum_calibration_error(confidences, labels, m, kind)
            baseline = baseline_calibration_error(confidences, m, strategy=kind).mean
            shares.append((ece, baseline, mce))
            few.append(str(((bins.counts > 0) & (bins.counts < FEW)).sum()))
    by = [0, 1, 2]
    eces, baselines, mces = np.transpose(shares)
    # A row for each network in bins of each kind.
    of_ece, of_baseline = (one.reshape(-1, len(N_BINS)) for one in (eces, baselines))
    places = np.log10(N_BINS)
    return ui.play(
        ["fig-number-of-bins"],
        "The same predictions in other bins",
        "How much of an ECE comes from the bins? Choose the network, and move the number of bins. "
        "Dashed: the baseline, which is the mean ECE of perfectly calibrated models with the same "
        f"confidences. Pale bars have fewer than {FEW} predictions.",
        "Reliability diagram in the chosen bins, with a strip of counts above it. Beside it the "
        "ECE against the number of bins, with a dot at the chosen one, and below it the baseline, "
        "which grows with the number of bins.",
        [
            ui.choice("Network", list(NETWORKS), 1),
            ui.choice("Bins of", list(STRATEGIES)),
            ui.slider("Number of bins", N_BINS, N_BINS.index(15)),
        ],
        [
            ui.number("ECE", map(percent, eces), by),
            ui.number("baseline ECE", map(percent, baselines), by),
            ui.number("MCE", map(percent, mces), by),
            ui.at_once(ui.number(f"bars under {FEW}", few, by)),
        ],
        [
            ui.at_once(ui.diagram(ui.table(frames, by), few=FEW, relative=True)),
            ui.lines(
                "ECE in %",
                ui.axis(0, 2, ui.logarithms([1, 2, 5, 10, 20, 50, 100]), "Number of bins"),
                ui.axis(0, 12, (0, 4, 8, 12)),
                [
                    ui.curve(
                        places, ui.table(100 * of_baseline, [0, 1]), "baseline", "c", digits=2
                    ),
                    ui.curve(places, ui.table(100 * of_ece, [0, 1]), digits=2, moves=True),
                ],
                at=2,
                height=330,
            ),
        ],
        ui.guess(
            [2],
            "Which number of bins makes this network look best, by its ECE?",
            [words for of in of_ece for words in worth(of)],
            by,
        ),
    )


def drawn_again() -> ui.Json:
    """Predictions of a calibrated model: chance draws which of them are correct."""
    rng = np.random.default_rng(seed=0)
    confidences = rng.permutation(predictions("ResNet-34")[0].astype(float))
    frames, shares, means = [], [], []
    for n in SIZES:
        some, of_n = confidences[:n], []
        for _ in range(N_DRAWS):
            drawn = rng.random(n) < some
            frames.append(ui.frame(reliability_bins(some, drawn)))
            of_n.append(expected_calibration_error(some, drawn.astype(int)))
        shares.append(of_n)
        means.append(baseline_calibration_error(some).mean)
    eces, baselines = 100 * np.array(shares), 100 * np.array(means)
    draws = list(range(1, N_DRAWS + 1))
    up = ui.axis(0, eces.max() * 1.1, range(0, 100, 5))

    def so_far(pick: Callable[[np.ndarray], np.ndarray]) -> list[str]:
        return [percent(e) for of in shares for e in pick(np.array(of))]

    return ui.play(
        ["fig-one-draw"],
        "A calibrated model",
        "A model with the confidences of ResNet-34 that is perfectly calibrated, because chance "
        "draws which predictions are correct. Draw again, or change the number of predictions: "
        "the ECE is never 0. Dashed: the baseline, which is its mean over many draws.",
        "Reliability diagram of a calibrated model on as many predictions as chosen. Beside it "
        "the ECE of each draw so far, none of them 0, and the baseline against the number of "
        "predictions: it falls as they grow in number.",
        [
            ui.slider("Number of predictions", [f"{n:,}" for n in SIZES], 1),
            ui.again("Draw again", [f"draw {k} of {N_DRAWS}" for k in draws]),
        ],
        [
            ui.number("ECE of this draw", so_far(np.asarray), [0, 1]),
            ui.number("baseline ECE", map(percent, means), [0]),
            ui.number("lowest so far", so_far(np.minimum.accumulate), [0, 1]),
            ui.number("highest so far", so_far(np.maximum.accumulate), [0, 1]),
        ],
        [
            ui.diagram(ui.table(frames, [0, 1]), relative=True),
            ui.lines(
                "ECE in %",
                ui.axis(0, N_DRAWS + 1, (1, 5, 10, 15, 20), "Draw"),
                up,
                [
                    ui.curve(
                        [0, N_DRAWS + 1],
                        ui.table([[one, one] for one in baselines], [0]),
                        "baseline",
                        "c",
                    ),
                    ui.curve(
                        draws, ui.table(eces, [0]), digits=2, dots="o", moves=True, so_far=True
                    ),
                ],
                at=1,
            ),
            ui.lines(
                "Baseline ECE in %",
                ui.axis(2, 4, ui.logarithms([100, 1000, 10_000]), "Number of predictions"),
                up,
                [ui.curve(np.log10(SIZES), baselines, moves=True)],
                at=0,
            ),
        ],
    )


if __name__ == "__main__":
    ui.write(number_of_bins(), drawn_again())
