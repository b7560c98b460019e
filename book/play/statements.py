"""Two language models: what they say and know. `python -m book.play.statements TARGET`."""

from __future__ import annotations

from calib_utils.metrics import expected_calibration_error, reliability_bins
from calib_utils.predictions import Predictions
from calib_utils.records import list_answers, load_answers
from tools.finishing import interactive as ui
from tools.finishing.interactive import percent

COMPLETE = 0.95  # as in the picture of the chapter
BINS = 20  # so that each multiple of five has one to itself
FEW = 50
START = "claude-3-haiku-20240307", "deepseek-reasoner"


def runs() -> dict[str, Predictions]:
    """The runs of the picture, the least accurate first."""
    found = {model: load_answers(model, "mmlu-pro") for model in list_answers("mmlu-pro")}
    drawn = {m: run.predictions for m, run in found.items() if run.complete.mean() >= COMPLETE}
    return dict(sorted(drawn.items(), key=lambda one: one[1].labels.mean()))


def statements() -> ui.Json:
    """Two diagrams, each with the run that its list picks."""
    found = runs()
    names, of_each = list(found), list(found.values())
    frames = [ui.frame(reliability_bins(one.array, one.labels, BINS)) for one in of_each]
    shares = {
        "accuracy": [percent(one.labels.mean()) for one in of_each],
        "stated": [percent(one.array.mean()) for one in of_each],
        "ECE": [percent(expected_calibration_error(one, n_bins=BINS)) for one in of_each],
    }
    known, said = (
        [float(one.labels.mean()) for one in of_each],
        [float(one.array.mean()) for one in of_each],
    )
    share = ui.axis(0.2, 1, [0.2, 0.4, 0.6, 0.8, 1], "Accuracy")
    return ui.play(
        ["fig-stated-and-accuracy"],
        "What two models say, and what they know",
        f"Choose two of the {len(found)} runs; the lists sort them by accuracy, and on the dashed "
        "line the two would agree. In the diagrams each bar is the accuracy where the "
        "model stated about that confidence, a hatched piece is the gap between the two, the strip "
        f"counts the replies, and pale bars have fewer than {FEW}.",
        "A dot for each run, its accuracy across and the mean confidence that it stated upwards, "
        "with the two chosen ones marked. Below them two reliability diagrams, one for each chosen "
        "run, with its accuracy, mean stated confidence and ECE. From the least to the most "
        "accurate run the bars grow towards the diagonal, while most statements stay between 80 "
        "and 100 %.",
        [
            ui.choice(f"Model {name}", names, names.index(start))
            for name, start in zip("AB", START, strict=True)
        ],
        [
            ui.number(f"{name}: {label}", of, [control])
            for control, name in enumerate("AB")
            for label, of in shares.items()
        ],
        [
            ui.lines(
                "Mean confidence stated",
                share,
                share | {"label": ""},
                [
                    ui.curve([0.2, 1], [0.2, 1], "", "c"),
                    ui.curve(known, said, "", "c", dots="o", digits=3),
                    *(
                        ui.curve(
                            ui.table([[x] for x in known], [control]),
                            ui.table([[y] for y in said], [control]),
                            name,
                            style,
                            dots=sign,
                            digits=3,
                        )
                        for control, (name, style, sign) in enumerate(
                            [("A", "a", "s"), ("B", "b", "d")]
                        )
                    ),
                ],
                height=300,
            ),
            *(
                ui.diagram(
                    ui.table(frames, [control]),
                    x=f"Confidence stated by {name}",
                    few=FEW,
                    relative=True,
                )
                for control, name in enumerate("AB")
            ),
        ],
        address="two-models",
    )


if __name__ == "__main__":
    ui.write(statements())
