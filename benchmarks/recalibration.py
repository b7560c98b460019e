"""Every recalibrator beside what a user would take instead, in one run.

It needs a few packages more than the course, in an environment of their own (some are old
friends of an older NumPy, and all together pull in some eighty others):

    pip install netcal==1.4.0 probmetrics==1.3.0 betacal==1.1.0 torch-uncertainty==0.13.0
    pip install rich einops torchinfo timm lightning h5py glest opencv-python-headless \
        seaborn scikit-image jsonargparse rich-argparse

A package that is missing is left out, and the table says so. Then

    python -m benchmarks.recalibration                     # some 45 minutes
    python -m benchmarks.recalibration --sizes 5000x100    # one

writes what it finds to ``benchmarks/results/recalibration.json``, anew after each fit. Everything
runs on one thread; a time is the least CPU time of up to five warm fits, which follow a cold one
that does not count. The labels are drawn from softmax(z / 2), so the best map is known, and so is
its NLL. Peers see the logits or log-probabilities where ours see logits less their mean, so the NLL
of vector and matrix scaling differs a little between libraries; with few samples plain matrix
scaling has no optimum, and what counts is the time to an NLL. A peer's fit that takes
more than 20 seconds of CPU time is stopped, and says "over budget".
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pkgutil import resolve_name
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from benchmarks.measured import on_one_thread, store
from calib_utils import recalibration as ours

SIZES = ("5000x100", "50000x100", "50000x1000")
TEMPERATURE = 2.0
NEW_SAMPLES = 10_000
BUDGET = 20.0  # seconds, for a fit of a peer
PEERS = ("scikit-learn", "netcal", "probmetrics", "betacal", "torch-uncertainty")

Predict = Callable[[np.ndarray], np.ndarray]  # from logits to probabilities


@dataclass(frozen=True)
class Samples:
    """Logits (N, K) in float32, their labels, and the forms in which peers want them."""

    logits: np.ndarray
    labels: np.ndarray

    @cached_property
    def probs(self) -> np.ndarray:
        return softmax(self.logits.astype(np.float64), axis=1)

    @cached_property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(self.logits), torch.from_numpy(self.labels)

    @cached_property
    def loader(self) -> torch.utils.data.DataLoader:
        dataset = torch.utils.data.TensorDataset(*self.tensors)
        return torch.utils.data.DataLoader(dataset, batch_size=10_000)


def draw(n: int, k: int, seed: int) -> Samples:
    """Logits with correlated classes, calibrated once they are divided by 2."""
    rng = np.random.default_rng(seed)
    classes = 0.45 * np.random.default_rng(k).standard_normal((32, k), np.float32)
    logits = rng.standard_normal((n, 32), np.float32) @ classes
    logits += 0.8 * rng.standard_normal((n, k), np.float32)
    labels = np.empty(n, np.int64)
    for start in range(0, n, 5_000):
        rows = slice(start, start + 5_000)
        sums = softmax(logits[rows].astype(np.float64), axis=1).cumsum(axis=1)
        labels[rows] = (sums < rng.random((len(sums), 1))).sum(axis=1)
    return Samples(np.float32(TEMPERATURE) * logits, np.minimum(labels, k - 1))


# ------------------------------------------------------------------ contenders


def fit_ours(make: Callable[[], ours.Recalibrator]) -> Callable[[Samples], Predict]:
    def fit(samples: Samples) -> Predict:
        fitted = make().fit(samples.logits, samples.labels)
        return lambda logits: fitted.predict_proba(logits.astype(np.float64))

    return fit


def torch_recipe(
    start: float, temperature_of: Callable[[torch.Tensor], torch.Tensor], **settings: Any
) -> Callable[[Samples], Predict]:
    """Temperature scaling with torch's LBFGS, on a parameter that gives the temperature."""

    def fit(samples: Samples) -> Predict:
        logits, labels = samples.tensors
        parameter = torch.nn.Parameter(torch.tensor([start]))
        optimiser = torch.optim.LBFGS([parameter], **settings)

        def closure() -> torch.Tensor:
            optimiser.zero_grad()
            scaled = logits / temperature_of(parameter)
            loss = torch.nn.functional.cross_entropy(scaled, labels)
            loss.backward()
            return loss

        optimiser.step(closure)
        found = temperature_of(parameter).item()
        return lambda z: softmax(z.astype(np.float64) / found, axis=1)

    return fit


def fit_on_probs(name: str, *arguments: Any, **more: Any) -> Callable[[Samples], Predict]:
    """A peer, "module:name", that takes probabilities, in float64, and maps new ones."""

    def fit(samples: Samples) -> Predict:
        peer = resolve_name(name)(*arguments, **more)
        peer.fit(samples.probs, samples.labels)
        predict = peer.transform if hasattr(peer, "transform") else peer.predict_proba
        return lambda logits: predict(softmax(logits.astype(np.float64), axis=1))

    return fit


def torch_uncertainty(
    name: str, settings: Callable[[int, int], dict[str, Any]] = lambda n, k: {}
) -> Callable[[Samples], Predict]:
    """A scaler with settings for (N, K) logits."""

    def fit(samples: Samples) -> Predict:
        make = resolve_name(f"torch_uncertainty.post_processing:{name}")
        scaler = make(**settings(*samples.logits.shape))
        scaler.fit(samples.loader, progress=False)
        return lambda z: torch.softmax(scaler(torch.from_numpy(z)).double(), dim=1).detach().numpy()

    return fit


def of_classes(n: int, k: int) -> dict[str, Any]:
    return {"num_classes": k}


def odir(n: int, k: int) -> dict[str, Any]:
    """As strong as ours."""
    return {"num_classes": k, "lambda_reg": (k * (k - 1)) ** 2 / n, "mu_reg": k**2 / n}


def scikit_temperature(samples: Samples) -> Predict:
    peer = resolve_name("sklearn.calibration:_TemperatureScaling")()
    return peer.fit(samples.logits, samples.labels).predict


def scikit_matrix(samples: Samples) -> Predict:
    peer = LogisticRegression(C=np.inf).fit(samples.logits, samples.labels)
    return peer.predict_proba


def each_class(
    name: str, *, column: bool = False, log_odds: bool = False, **arguments: Any
) -> Callable[[Samples], Predict]:
    """One peer for each class against the others, on its probability, then normalised."""

    def inputs(probs: np.ndarray) -> np.ndarray:
        if log_odds:
            probs = np.clip(probs, 1e-300, 1 - 1e-16)
            probs = np.log(probs) - np.log1p(-probs)
        return np.ascontiguousarray(probs.T).reshape(probs.shape[::-1] + (1,) * column)

    def fit(samples: Samples) -> Predict:
        peers = [
            resolve_name(name)(**arguments).fit(values, (samples.labels == k).astype(int))
            for k, values in enumerate(inputs(samples.probs))
        ]

        def predict(logits: np.ndarray) -> np.ndarray:
            columns = inputs(softmax(logits.astype(np.float64), axis=1))
            found = [peer.predict(values) for peer, values in zip(peers, columns, strict=True)]
            result = np.stack(found, axis=1)
            return result / result.sum(axis=1, keepdims=True)

        return predict

    return fit


def one_versus_rest(name: str, **arguments: Any) -> Callable[[Samples], Predict]:
    return fit_ours(lambda: ours.OneVersusRest(getattr(ours, name)(**arguments)))


# {method: {contender: fit}}; ours first.
METHODS: dict[str, dict[str, Callable[[Samples], Predict]]] = {
    "temperature": {
        "calib_utils": fit_ours(ours.TemperatureScaling),
        # As many people know it: on T, in small steps.
        "known recipe, 50 steps": torch_recipe(1.5, lambda t: t, lr=0.01, max_iter=50),
        "known recipe, 200 steps": torch_recipe(1.5, lambda t: t, lr=0.01, max_iter=200),
        "torch, strong Wolfe on log T": torch_recipe(
            0.0, torch.exp, max_iter=50, line_search_fn="strong_wolfe"
        ),
        "scikit-learn": scikit_temperature,
        "probmetrics": fit_on_probs("probmetrics.calibrators:get_calibrator", "temp-scaling"),
        "netcal": fit_on_probs("netcal.scaling:TemperatureScaling"),
        "torch-uncertainty": torch_uncertainty("TemperatureScaler"),
    },
    "ensemble temperature": {"calib_utils": fit_ours(ours.EnsembleTemperatureScaling)},
    "vector": {
        "calib_utils": fit_ours(ours.VectorScaling),
        "probmetrics": fit_on_probs("probmetrics.calibrators:logistic.VectorScalingCalibrator"),
        "probmetrics, SVS (ridge)": fit_on_probs("probmetrics.calibrators:SVSCalibrator"),
        "torch-uncertainty": torch_uncertainty("VectorScaler", of_classes),
        "netcal": fit_on_probs("netcal.scaling:LogisticCalibration"),
    },
    "matrix, plain": {
        "calib_utils": fit_ours(ours.MatrixScaling),
        # As peers are: with few samples the optimum is infinite.
        "calib_utils, stopped after 20 steps": fit_ours(lambda: ours.MatrixScaling(max_steps=20)),
        "scikit-learn": scikit_matrix,
        "probmetrics": fit_on_probs("probmetrics.calibrators:logistic.MatrixScalingCalibrator"),
        "torch-uncertainty": torch_uncertainty("MatrixScaler", of_classes),
    },
    "matrix, regularised": {
        "calib_utils": fit_ours(lambda: ours.MatrixScaling(regularization=1.0))
    },
    "structured matrix": {
        "calib_utils": fit_ours(ours.StructuredMatrixScaling),
        "probmetrics": fit_on_probs("probmetrics.calibrators:SMSCalibrator"),
    },
    "Dirichlet (ODIR)": {
        "calib_utils": fit_ours(ours.DirichletCalibration),
        "torch-uncertainty": torch_uncertainty("DirichletScaler", odir),
    },
    "histogram, one-versus-rest": {
        "calib_utils": one_versus_rest("HistogramBinning"),
        "netcal": fit_on_probs("netcal.binning:HistogramBinning", bins=15),
        "torch-uncertainty": torch_uncertainty("HistogramBinningScaler"),
    },
    "isotonic, one-versus-rest": {
        "calib_utils": one_versus_rest("IsotonicRegression"),
        "scikit-learn, each class": each_class(
            "sklearn.isotonic:IsotonicRegression", out_of_bounds="clip"
        ),
        "netcal": fit_on_probs("netcal.binning:IsotonicRegression"),
        "torch-uncertainty": torch_uncertainty("IsotonicRegressionScaler"),
    },
    "Platt, one-versus-rest": {
        "calib_utils": one_versus_rest("PlattScaling", smooth_targets=True),
        "scikit-learn, each class": each_class(
            "sklearn.calibration:_SigmoidCalibration", log_odds=True
        ),
    },
    "beta, one-versus-rest": {
        "calib_utils": one_versus_rest("BetaCalibration"),
        "betacal, each class": each_class("betacal:BetaCalibration", column=True, parameters="abm"),
    },
    "BBQ, one-versus-rest": {
        "calib_utils": one_versus_rest("BayesianBinningIntoQuantiles"),
        "netcal (BIC)": fit_on_probs("netcal.binning:BBQ"),
        "torch-uncertainty (15 bins)": torch_uncertainty("BBQScaler"),
    },
}


# ------------------------------------------------------------------ measuring


class OverBudget(Exception):
    pass


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and warnings of many fits."""
    logging.disable(logging.WARNING)
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OverBudget after this much CPU time."""

    def stop(*_: object) -> None:
        raise OverBudget

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds if math.isfinite(seconds) else 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def mean_nll(predict: Predict, samples: Samples) -> float:
    """From probabilities; infinite if a label got 0."""
    total = 0.0
    for start in range(0, len(samples.labels), 5_000):
        rows = slice(start, start + 5_000)
        labels = samples.labels[rows]
        probs = np.asarray(predict(samples.logits[rows]), np.float64)
        total -= np.log(probs[np.arange(len(labels)), labels]).sum()
    return float(total / len(samples.labels))


def measure(
    fit: Callable[[Samples], Predict], samples: Samples, new: Samples, budget: float
) -> dict[str, Any]:
    """The least time of up to five warm fits (fewer of slow ones), and the NLL reached."""
    with quiet():
        try:
            times: list[float] = []
            with at_most(budget):
                fit(samples)
            while not times or (len(times) < 5 and sum(times) < 2):
                start = time.process_time()
                with at_most(budget):
                    predict = fit(samples)
                times.append(time.process_time() - start)
            fitted, unseen = mean_nll(predict, samples), mean_nll(predict, new)
        except OverBudget:
            return {"note": "over budget"}
        except ImportError as error:
            return {"note": f"not installed ({error.name})"}
        except Exception as error:  # a peer's, on input that is fine: worth a line in the table
            return {"note": f"failed: {type(error).__name__}"}
    return {"ms": 1000 * min(times), "nll": finite(fitted), "nll_new": finite(unseen)}


def finite(value: float) -> float | str:
    """JSON has no infinity."""
    return value if math.isfinite(value) else "infinite"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="such as 5000x100")
    sizes = parser.parse_args().sizes
    results: dict[str, Any] = on_one_thread("scipy", "torch", *PEERS)
    torch.set_num_threads(1)
    results |= {"temperature": TEMPERATURE, "budget_s": BUDGET, "true_map": {}, "rows": []}
    results["clock"] = "the least of up to five warm fits"
    for size in sizes:
        n, k = map(int, size.split("x"))
        samples, new = draw(n, k, seed=0), draw(NEW_SAMPLES, k, seed=1)
        samples.probs, samples.loader  # noqa: B018 (computed here, so that no clock counts it)
        results["true_map"][size] = {
            name: mean_nll(lambda z: np.exp(log_softmax(z / TEMPERATURE, axis=1)), s)
            for name, s in (("nll", samples), ("nll_new", new))
        }
        for method, contenders in METHODS.items():
            for library, fit in contenders.items():
                budget = math.inf if library.startswith("calib_utils") else BUDGET
                row = {"method": method, "library": library, "n": n, "k": k}
                results["rows"].append(row | measure(fit, samples, new, budget))
                store("recalibration", results)


if __name__ == "__main__":
    main()
