"""Hidden checks of "Your own network, and its report"; their inputs come from the secret."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.neural_network import MLPClassifier

from calib_utils.metrics import baseline_calibration_error
from classroom.assignments.lab.images import (
    N_DIGITS,
    Images,
    annotated,
    blobs,
    digits,
    part_of,
    renumbered,
)
from classroom.assignments.lab.reference import cut, kinds_and_units, report, reported, split
from classroom.assignments.measures import bins_matter, temperature
from classroom.checks import Check, Judge, close, partly
from classroom.page import percent
from classroom.secret import drawn_labels, generator
from classroom.variants import Code, Variant, or_coarse, reading, words

EPOCHS = 400  # of the sample report
N_MIXED = 160  # images that are split again
SEEDED = "the seed decides, and nothing else"
SEED_HINT = (
    "Make one generator from the seed, within the function, and draw every random number from it."
)
# Of the accuracy of who knows which images are negatives: for all points. The worst of 40 honest
# trainings had 0.86, and 0.74 where classes are ruled out, which says least of an image.
ENOUGH = {"label": 0.8, "votes": 0.8, "pair": 0.8, "sure": 0.8, "excluded": 0.65}
# Of a training and its repetition, as measured in those forty.
AGREED = 0.85  # of the predictions, at least
SHARED = 0.5  # of the mistakes of the repetition, at least
APART = 0.1  # the accuracies, mean confidences, and mean probabilities of any class, at most


def values(secret: bytes) -> dict[str, Any]:
    """The values that differ from sheet to sheet."""
    rng = generator(secret, "lab", "variant")
    return {"n_bins": int(rng.choice([8, 10, 12])), "first": int(rng.choice([40, 50, 60]))}


def data(secret: bytes, variant: Variant) -> dict[str, dict[str, np.ndarray]]:
    """The file that lies beside the notebook."""
    found = {key: digits(secret)[key] for key in ("images", "labels", "writers")}
    said = annotated(secret, found["labels"], variant["annotation"])
    return {"digits": {**found, "annotations": said}}


def parts_of(answer: Any, n: int) -> list[np.ndarray] | None:
    """Three arrays of indices, if they are a partition of 0 to n - 1."""
    if not isinstance(answer, list | tuple) or len(answer) != 3:
        return None
    parts = [np.asarray(part) for part in answer]
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in parts):
        return None
    return parts if np.array_equal(np.sort(np.concatenate(parts)), np.arange(n)) else None


def follows_rule(
    answer: Any, labels: np.ndarray, writers: np.ndarray, variant: Variant, slack: int = 0
) -> bool:
    """Whether an answer is a split as the sheet asks, each part to within ``slack`` units.

    Units are images, or writers; a split in which training has just the first units is not random.
    """
    parts = parts_of(answer, len(labels))
    if parts is None:
        return False
    kinds, stays = kinds_and_units(labels, writers, variant=variant)
    first = []
    for k in np.unique(kinds):
        rows = [part[kinds[part] == k] for part in parts]
        units = [np.unique(stays[part]) for part in rows]
        everything = np.unique(np.concatenate(units))
        sizes = np.array([len(found) for found in units])
        if sizes.sum() != len(everything):
            return False  # a writer is in two parts
        if (np.abs(sizes - cut(len(everything), variant=variant)) > slack).any():
            return False
        first.append(np.array_equal(units[0], everything[: sizes[0]]))
    return not all(first)


def trained(seen: Images, new: Images, way: str) -> Any:
    """Judge of logits: their accuracy beside that of a rule that knows the negatives.

    The rule is the nearest of two means for each class.
    """
    n_classes = int(seen[1].max()) + 1
    kinds = 2 * seen[1] + seen[2]
    means = np.array([seen[0][kinds == kind].mean(axis=0) for kind in range(2 * n_classes)])
    nearest = ((new[0][:, None] - means) ** 2).sum(axis=2).argmin(axis=1) // 2
    goal = ENOUGH[way] * float((nearest == new[1]).mean())

    def judge(answer: Any) -> bool | float:
        logits = np.asarray(answer)
        if logits.dtype.kind != "f" or logits.shape != (len(new[1]), n_classes):
            return False
        if not np.isfinite(logits).all():
            return False
        right = float((logits.argmax(axis=1) == new[1]).mean())
        return float(np.interp(right, [0.5, goal], [0, 1]))

    return judge


def has_form(logits: Any, way: str) -> bool:
    """Whether rows of logits are normalised as a sheet asks."""
    found = np.asarray(logits)
    if found.dtype.kind != "f" or found.ndim != 2:
        return False
    ends = {
        "logits": 0.0,
        "normalised": logsumexp(found, axis=1),
        "reference": found[:, 0],
        "top": found.max(axis=1),
    }[way]
    return bool(np.abs(ends).max() < 1e-6)


def probabilities(logits: Any) -> np.ndarray:
    """Those of logits, whatever was added to a row."""
    found = np.asarray(logits)
    if found.dtype.kind != "f" or found.ndim != 2:
        raise ValueError("no logits")
    return np.asarray(softmax(found.astype(float), axis=1))


def repeated(found: Any, wanted: Any, labels: np.ndarray) -> bool:
    """Whether two arrays of logits are of the same training, as far as training repeats itself.

    Not number by number: training is chaotic, so the order of a sum or a lower precision may change
    every logit. What stays are most predictions, most mistakes, the accuracy and the mean
    probabilities. Logits that were made from the labels make none of these mistakes.
    """
    mine, other = probabilities(found), probabilities(wanted)
    if mine.shape != other.shape or not (np.isfinite(mine) & np.isfinite(other)).all():
        return False
    said, again = mine.argmax(axis=1), other.argmax(axis=1)
    wrong = again != labels
    right = [(answers == labels).mean() for answers in (said, again)]
    means = np.abs(mine.mean(axis=0) - other.mean(axis=0)).max()
    sure = abs(mine.max(axis=1).mean() - other.max(axis=1).mean())
    return bool(
        (said == again).mean() >= AGREED
        and (said != labels)[wrong].sum() >= SHARED * wrong.sum()
        and abs(right[0] - right[1]) <= APART
        and means <= APART
        and sure <= APART
    )


def examples(variant: Variant) -> dict[str, Any]:
    """What the examples of the notebook give, and annotations for them."""
    parts = split(np.zeros(100, dtype=np.int64), np.arange(100) % 20, 0, variant=variant)
    given = {
        "label": "kinds",
        "votes": "5 * np.eye(2, dtype=int)[kinds]",
        "sure": "np.stack([kinds, 90 + 0 * kinds], axis=1)",
        "excluded": "1 - np.eye(2, dtype=int)[kinds]",
    }
    pair = "np.stack([kinds, kinds], axis=1)"
    return {
        "expected_sizes": [len(part) for part in parts],
        "given_annotations": Code(given.get(variant["annotation"], pair)),
    }


def checks(secret: bytes, variant: Variant) -> list[Check]:
    stored, way = digits(secret), variant["annotation"]
    n = len(stored["labels"])
    said = annotated(secret, stored["labels"], way)
    rng = generator(secret, "lab", "inputs")
    seeds = [int(seed) for seed in rng.integers(1000, 9999, 3)]
    order = (np.arange(N_DIGITS) + int(rng.integers(1, N_DIGITS))) % N_DIGITS

    def splits(size: int, seed: int) -> Check:
        labels, writers = rng.integers(0, 7, size), rng.integers(0, size // 8, size)

        def right(found: Variant, slack: int = 0) -> Judge:
            return lambda answer: follows_rule(answer, labels, writers, found, slack)

        return Check(
            "q1",
            f"{size} images",
            "split",
            (labels, writers, seed),
            partly(right(variant), right(variant, slack=1)),
            misread="A part is one too long or too short: mind how the text rounds.",
            read=reading("lab", variant, ("split",), right),
        )

    def chosen(parts: Any) -> list[list[int]]:
        return [sorted(part) for part in parts_of(parts, N_MIXED) or ()]

    def mixes(answer: Any, own: list[Any]) -> bool:
        mine, again, other = map(chosen, (answer, *own))
        return bool(mine and other) and mine == again != other

    mixed = (rng.integers(0, 7, N_MIXED), rng.integers(0, N_MIXED // 8, N_MIXED))
    shuffled_by = Check(
        "q1",
        SEEDED,
        "split",
        (*mixed, seeds[0]),
        mixes,
        0.5,
        hint=SEED_HINT,
        own=[("split", (*mixed, seeds[0] + k)) for k in (0, 1)],
    )
    patterns = blobs(rng, 10)
    learns = trained(*patterns, way)
    told = annotated(secret, patterns[0][1], way)
    given = (patterns[0][0], told, patterns[1][0], seeds[1])

    def returns(found: Variant) -> Judge:
        return lambda answer: learns(answer) > 0 and has_form(answer, found["output"])

    def decides(answer: Any, own: list[Any]) -> bool:
        if not learns(answer) > 0:
            return False
        mine, again, other = map(probabilities, (answer, *own))
        # Far closer to the same seed than to a different one, if not the same number by number.
        return bool(np.abs(mine - again).mean() < np.abs(mine - other).mean() / 2)

    seeded = Check(
        "q2",
        SEEDED,
        "train_and_predict",
        given,
        decides,
        0.5,
        hint=SEED_HINT,
        own=[("train_and_predict", (*given[:3], seeds[1] + k)) for k in (0, 1)],
    )
    form = Check(
        "q2",
        "what is returned",
        "train_and_predict",
        given,
        returns(variant),
        2.0,
        read=reading("lab", variant, ("output",), returns),
    )

    def is_split(answer: Any) -> bool:
        parts = answer.get("split") if isinstance(answer, dict) else None
        return follows_rule(parts, stored["labels"], stored["writers"], variant)

    def usable(answer: Any) -> list[np.ndarray] | None:
        """The parts of a record if they have about the right sizes, whatever rule they follow."""
        parts = parts_of(answer.get("split") if isinstance(answer, dict) else None, n)
        sizes = [len(part) for part in parts or ()]
        right = bool(sizes) and np.allclose(sizes, cut(n, variant=variant), rtol=0, atol=n / 20)
        return parts if right else None

    def part(place: int, key: str) -> Check:
        def again(answer: Any) -> list[tuple[str, tuple[Any, ...]]]:
            """The training of the record, and the same with the classes renumbered."""
            parts, seed = usable(answer), answer["seed"]
            if parts is None or type(seed) is not int:
                return []
            images, told = stored["images"][parts[0]], said[parts[0]]
            rest = np.concatenate([stored["images"][rows] for rows in parts[1:]])
            given = (told, renumbered(told, order, way))
            return [("train_and_predict", (images, y, rest, seed)) for y in given]

        def judge(answer: Any, own: list[Any]) -> bool | float:
            parts = usable(answer)
            if parts is None or not own or not all(isinstance(o, np.ndarray) for o in own):
                return False
            n_first = len(parts[1])
            mine, *other = [logits[:n_first] if place == 1 else logits[n_first:] for logits in own]
            if not repeated(answer.get(key), mine, stored["labels"][parts[place]]):
                return False  # the record is not of this training
            seen, new = part_of(stored, parts[0]), part_of(stored, parts[place])
            right = float(trained(seen, new, way)(mine))
            # Logits that were looked up know nothing of other numbers for the classes.
            seen, new = ((x, order[y], negative) for x, y, negative in (seen, new))
            return right if all(trained(seen, new, way)(logits) > 0 for logits in other) else False

        return Check("q3", f"the {key}", "record", (), judge, own=again)

    validation, test = stretched(rng, variant)

    def reports(key: str) -> Check:
        def right(asked: Variant) -> Judge:
            best = temperature(*validation, asked["loss"])
            is_best = close(best, rtol=0.02)

            def judge(answer: Any) -> bool:
                if not isinstance(answer, dict) or key not in answer:
                    return False
                found: Any = answer.get("temperature")
                if key == "temperature":
                    return is_best(found)
                # The numbers after recalibration must fit the temperature that is given.
                # Below 0.05 they would be infinite, and nan would be right.
                allowed = close(0, atol=20)(found) and found >= 0.05 and abs(found - 1) > 0.01
                used = float(found) if allowed else best
                return close(reported(*test, used, variant=asked)[key])(answer[key])

            return judge

        asked = {"t": ("loss",), "l": ("loss",), "e": ("error",)}.get(key[0], ())
        other = reading("lab", variant, asked, right)
        if key == "temperature":
            other = or_coarse(other, words("lab", variant))
        return Check("q4", key, "report", (*validation, *test), right(variant), read=other)

    # In a different order of the pixels, so that nothing can be looked up in the file.
    points = rng.permutation(64)
    shuffled = {**stored, "images": stored["images"][:, points]}
    shown, rest = part_of(shuffled, np.arange(0, 1200)), part_of(shuffled, np.arange(1200, n))
    digits_given = (shown[0], said[:1200], rest[0], seeds[2])
    return [
        splits(997, seeds[0]),
        splits(200, seeds[1]),
        shuffled_by,
        # Before what trains, which may use up the time.
        *(reports(key) for key in report(*validation, *test, variant=variant)),
        Check("q2", "ten patterns", "train_and_predict", given, learns),
        Check("q2", "digits", "train_and_predict", digits_given, trained(shown, rest, way)),
        form,
        seeded,
        Check("q3", "the split", "record", (), is_split),
        part(1, "validation_logits"),
        part(2, "test_logits"),
    ]


def stretched(rng: np.random.Generator, variant: Variant) -> list[tuple[np.ndarray, np.ndarray]]:
    """Logits and labels of validation and test, too large where the confidence is high.

    Before and after recalibration, bins matter. Each number of bins divides that of the rows, so
    that `np.array_split` cuts the same ones.
    """
    while True:
        parts = []
        for _ in range(2):
            logits = rng.normal(0, 3, (480, 6))
            truth = 4 * np.tanh(logits / 2)
            parts.append((logits, drawn_labels(rng, softmax(truth, axis=1))))
        logits, labels = parts[1]
        best = temperature(*parts[0], variant["loss"])
        if all(bins_matter(logits / t, labels, variant["n_bins"]) for t in (1, best)):
            return parts


def sample(secret: bytes, variant: Variant) -> dict[str, str]:
    """The numbers of the marked sample report, from a network that is trained here."""
    stored = digits(secret)
    sizes = cut(len(stored["labels"]), variant=variant)
    order = generator(secret, "lab", "sample").permutation(sizes.sum())
    parts = np.split(order, np.cumsum(sizes)[:2])
    network = MLPClassifier((64,), alpha=0, random_state=0)
    seen = (stored["images"][parts[0]], stored["labels"][parts[0]])
    for _ in range(EPOCHS):
        network.partial_fit(*seen, classes=np.arange(N_DIGITS))
    validation, test = (
        (np.log(network.predict_proba(stored["images"][rows]).clip(1e-12)), stored["labels"][rows])
        for rows in parts[1:]
    )
    found = report(*validation, *test, variant=variant)
    scaled = softmax(test[0] / found["temperature"], axis=1)
    baseline = baseline_calibration_error(scaled, n_bins=variant["n_bins"])
    wrong, sure = test[0].argmax(axis=1) != test[1], softmax(test[0], axis=1).max(axis=1)
    digit = max(range(N_DIGITS), key=lambda k: float(wrong[test[1] == k].mean()))
    of_digit = test[1] == digit
    hardest = {
        f"{name}_{key}": percent(values[rows].mean(), 1)
        for name, rows in (("digit", of_digit), ("others", ~of_digit))
        for key, values in (("wrong", wrong), ("confidence", sure))
    }
    names = zip(("train", "validation", "test"), sizes, strict=True)
    return {
        **{f"n_{name}": str(size) for name, size in names},
        "epochs": str(EPOCHS),
        "digit": str(digit),
        **hardest,
        "temperature": f"{found['temperature']:.2f}",
        "direction": "overconfident" if found["temperature"] > 1 else "underconfident",
        **{f"loss_{when}": f"{found[f'loss_{when}']:.2f}" for when in ("before", "after")},
        **{key: percent(found[key], 1) for key in ("accuracy", "error_before", "error_after")},
        "baseline": percent(baseline.mean, 1),
        "baseline_high": percent(baseline.high, 1),
        "within": "is within" if found["error_after"] <= baseline.high else "lies above",
    }
