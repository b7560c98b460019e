"""The first picture of the chapter on many classes: `python -m book.figures.many_classes TARGET`.

The ECE of ResNet-34 uncalibrated, with one parameter, and with ten thousand, and its baseline.
"""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from book.resnet34 import resnet34
from calib_utils.metrics import baseline_calibration_error, expected_calibration_error
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.recalibration import MatrixScaling, TemperatureScaling
from tools.sources.plot_settings import save


def figure() -> Figure:
    validation, test, temperature = resnet34()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has no optimum
        matrix = MatrixScaling().fit(validation.logits, validation.labels)
    methods = {
        "Uncalibrated": TemperatureScaling(temperature=1),
        "Temperature": temperature,
        "Matrix": matrix,
    }
    names, eces, baselines = [], [], []
    for name, method in methods.items():
        probs = method.predict_proba(test.logits)
        names.append(f"{name},\nparameters: {method.n_parameters_:,}")
        eces.append(100 * expected_calibration_error(probs, test.labels))
        baselines.append(100 * baseline_calibration_error(probs).mean)
    # What the chapter says about the picture.
    if not (
        9 < eces[0] < 11
        and baselines[1] < eces[1] < 1.5
        and 35 < eces[2] < 45
        and baselines[2] < 0.5
    ):
        raise SystemExit(f"methods-for-many-classes.md is no longer true: {eces=}, {baselines=}")

    fig, ax = plt.subplots(figsize=(4.8, 2.4), layout="constrained")
    ax.hlines(names, baselines, eces, color=GREY, linewidth=1)
    ax.plot(baselines, names, "|", color=GREY, markersize=18, label="baseline")
    looks = zip(names, eces, (GREY, BLUE, ORANGE), "Dos", strict=True)
    for name, ece, colour, marker in looks:
        ax.plot(ece, name, marker, color=colour, markersize=8)
        words = f"{ece:.0f} %" if ece > 2 else f"{ece:.1f} %"
        ax.annotate(words, (ece, name), (0, 9), textcoords="offset points", ha="center")
    marks = [0.1, 1, 10, 100]
    ax.set(xscale="log", xlim=(0.05, 200), ylim=(2.4, -0.7), xlabel="ECE (%), logarithmic")
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.legend(markerscale=0.6, loc="upper left", fontsize="small")
    return fig


if __name__ == "__main__":
    save(figure)
