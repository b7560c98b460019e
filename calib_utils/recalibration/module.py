"""A recalibrator appended to a network."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from calib_utils._numerics import FAR
from calib_utils.predictions.scores import LIKE_PROBS, MANY, like_probs
from calib_utils.recalibration.affine import (
    DirichletCalibration,
    MatrixScaling,
    StructuredMatrixScaling,
    VectorScaling,
)
from calib_utils.recalibration.base import Recalibrator
from calib_utils.recalibration.binary import BetaCalibration, BinaryRecalibrator, PlattScaling
from calib_utils.recalibration.confidence import BetaOnConfidence
from calib_utils.recalibration.temperature import EnsembleTemperatureScaling, TemperatureScaling


class CalibratedModule(nn.Module):
    """A network whose outputs are calibrated.

    It returns the logarithms of the calibrated probabilities. These are logits, because their
    softmax gives the calibrated probabilities, so the module can replace the network wherever
    logits are expected. With a binary recalibrator it returns log-odds, for a sigmoid. It is for
    prediction, and does not propagate gradients.

    Methods that are plain arithmetic (temperature, ensemble, vector, matrix, Dirichlet and
    structured matrix scaling, Platt scaling, beta calibration, also on the confidence) run in
    torch, on the device of the network. Their parameters are buffers, and so part of
    ``state_dict``. They can be traced, exported and compiled. The buffers are float64, and
    ``.float()`` makes them float32, as Apple's GPUs require. The other methods compute on the CPU,
    are stored by `Recalibrator.save` and not in ``state_dict``, and raise an error if they are
    traced. Call ``eval()`` first, as of any network: in training mode, dropout makes two calls
    differ, and batch normalisation changes with each of them.

    Args:
        network: returns logits of shape (N, K); or of more axes, such as (batch, token, class) or
            the maps (N, K, height, width); or (N,) or (N, 1) for a binary recalibrator. A dict
            with ``"logits"``, or an object with ``.logits``, as models of transformers return,
            stands for these.
        recalibrator: fitted, or of fixed temperature; it is copied.
        axis: of the classes, if there are more than two axes: 1, or -1 for the last. By default the
            one of these that has as many entries as ``recalibrator`` has classes.

    Attributes:
        network: as given.
        recalibrator: the copy, which ``load_state_dict`` keeps up to date.

    Raises:
        RuntimeError: if ``recalibrator`` is not fitted; or when a method that is not plain
            arithmetic is traced, exported or compiled.
        ValueError: from a call, for logits of a different number of classes, or of a kind that the
            method does not take, or if ``axis`` is needed; from ``load_state_dict``, for parameters
            of a wrong shape, or that are not finite.

    Example:
        >>> import torch
        >>> from calib_utils.recalibration import TemperatureScaling
        >>> model = CalibratedModule(torch.nn.Identity(), TemperatureScaling(2.0))
        >>> probs = model.predict_proba(torch.tensor([[4.0, 0.0]]))
        >>> [round(prob, 2) for prob in probs[0].tolist()]
        [0.88, 0.12]
    """

    def __init__(self, network: nn.Module, recalibrator: Recalibrator, *, axis: int | None = None):
        super().__init__()
        if axis not in (None, 1, -1):
            raise ValueError(f"axis: expected 1 or -1, the axis of the classes, found {axis!r}")
        recalibrator._require_fitted()
        self.network = network
        self.recalibrator = copy.deepcopy(recalibrator)
        self.axis = axis
        self._looked = False
        self._said_training = False
        self._log_probs: _Arithmetic | None = None
        names: tuple[str, ...] = ()
        if type(recalibrator) in _ARITHMETIC:
            self._log_probs, names = _ARITHMETIC[type(recalibrator)]
            names += ("zero_",) if recalibrator.inputs == "probs" else ()
        for name in names:
            value = torch.as_tensor(getattr(recalibrator, name), dtype=torch.float64)
            self.register_buffer(name, value.clone())

    @torch.no_grad()
    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Calibrated log-probabilities, or log-odds, of the network's shape.

        Args:
            args: passed to the network, as are ``kwargs``.
            kwargs: see above.

        Returns:
            A tensor of the type and on the device of the network's logits; -inf where a
            probability is 0.

        Raises:
            ValueError: for logits of a different number of classes, or that are integers; or if
                the network returns neither a tensor nor logits by that name.

        Warns:
            UserWarning: once, if the first logits look like probabilities, or the network is in
                training mode.
        """
        self._say_training_once()
        outputs = _logits_of(self.network(*args, **kwargs))
        if not outputs.is_floating_point():
            raise ValueError(
                f"network: expected logits of floating-point numbers, found {outputs.dtype}; the "
                "result would be rounded to that type"
            )
        if not outputs.ndim:
            raise ValueError("network: expected logits of one axis or more, found a single number")
        column = outputs.ndim == 2 and outputs.shape[1] == 1
        logits = outputs[:, 0] if column else outputs
        if outputs.ndim > 2:
            axis = self._axis_of_classes(outputs.shape)
            last = outputs.movedim(axis, -1)
            logits = last.flatten(0, -2)
        self._look_once(logits)
        if self._log_probs is None:
            _require_eager(self.recalibrator)
            if logits.ndim == 1:  # rounded to half precision, a probability near 1 would be lost
                wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
                result = torch.logit(self.recalibrator.predict_proba(wide))
            else:
                result = self.recalibrator.predict_log_proba(logits)
        else:
            self.recalibrator._check_shape(logits.shape)
            buffers = dict(self.named_buffers(recurse=False))
            precision = next(iter(buffers.values())).dtype
            wide = logits.to(torch.promote_types(precision, torch.float32))
            binary = isinstance(self.recalibrator, BinaryRecalibrator)  # which does so itself
            if self.recalibrator.inputs == "probs" and not binary:
                positive, negative = _log_of_probs(wide, buffers["zero_"], logits.dtype)
                wide = positive - negative if wide.ndim == 1 else positive
            result = self._log_probs(wide, buffers, self.recalibrator, logits.dtype)
            if self.recalibrator._keeps_class and logits.ndim > 1:
                result = _keep_class(logits, result, outputs.dtype)
        if outputs.ndim > 2:
            return result.reshape(last.shape).movedim(-1, axis).to(outputs.dtype)
        return result.reshape(outputs.shape).to(outputs.dtype)

    def predict_proba(self, *args: Any, **kwargs: Any) -> Tensor:
        """Calibrated probabilities, in the type of the network's logits."""
        result = self(*args, **kwargs)
        wide = result.to(torch.promote_types(result.dtype, torch.float32))
        binary = result.ndim == 1 or (result.ndim == 2 and result.shape[1] == 1)
        axis = self._axis_of_classes(result.shape) if result.ndim > 2 else -1
        probs = wide.sigmoid() if binary else wide.softmax(dim=axis)
        if not self.recalibrator._keeps_class:
            return probs.to(result.dtype)
        if not binary:
            return _keep_class(result, probs, result.dtype, axis)
        probs = probs.to(result.dtype)
        return torch.where((result > 0) & (probs <= 0.5), _next_above(probs), probs)

    def _axis_of_classes(self, shape: torch.Size) -> int:
        """The axis of the classes in logits of more than two axes."""
        if self.axis is not None:
            return self.axis
        k = vars(self.recalibrator).get("n_classes_")
        possible = [axis for axis in (1, -1) if k in (None, shape[axis])]
        if len(possible) == 1 and vars(self.recalibrator)["shape_"] == "(N, K)":
            return possible[0]
        classes = "" if k is None else f" {k}"
        raise ValueError(
            f"network: found logits of shape {tuple(shape)}, where it is not clear which axis has "
            f"the{classes} classes; give CalibratedModule axis=1 for maps (N, K, height, width), "
            "axis=-1 where they are last, or for two classes a network that returns (N,)"
        )

    def _say_training_once(self) -> None:
        if self._said_training or _traced():
            return
        if any(part.training for part in self.network.modules() if type(part) is not nn.Identity):
            self._said_training = True
            warnings.warn(
                "network: it is in training mode, in which dropout and batch normalisation "
                "would make calls differ; call eval() on this module first",
                stacklevel=3,
            )

    def _look_once(self, logits: Tensor) -> None:
        """Checking every batch would wait for the device."""
        if self._looked or _traced():
            return
        if not logits.numel() or (logits.ndim == 1 and len(logits) < MANY):
            return
        self._looked = True
        if self.recalibrator.inputs == "logits" and _like_probs(logits):
            warnings.warn(LIKE_PROBS[logits.ndim], stacklevel=3)

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        """Check the loaded parameters, and copy them to the recalibrator."""
        if self._log_probs is None:
            warnings.warn(
                f"recalibrator: the parameters of {type(self.recalibrator).__name__} are in no "
                "state_dict, and were left unchanged; load them with recalibration.load",
                stacklevel=4,
            )
        updated = copy.copy(self.recalibrator)
        for name, _ in self.named_buffers(recurse=False):
            if prefix + name in state:
                value = state[prefix + name].detach().double().cpu().numpy()
                setattr(updated, name, value.copy() if value.ndim else float(value))
        updated._check_learned()
        if isinstance(updated, TemperatureScaling) and updated.temperature is not None:
            updated.temperature = updated.temperature_
            updated.fitted_as_ = repr(updated)
        super()._load_from_state_dict(state, prefix, *args)
        self.recalibrator = updated


def _logits_of(outputs: Any) -> Tensor:
    """What a network returned, or the logits in it."""
    if isinstance(outputs, Tensor):
        return outputs
    named = outputs.get("logits") if isinstance(outputs, Mapping) else None
    logits = getattr(outputs, "logits", named)
    if not isinstance(logits, Tensor):
        raise ValueError(
            "network: expected a tensor, or a dict or an object with logits, found "
            f"{type(outputs).__name__}; wrap the network in a module that returns its logits"
        )
    return logits


def _keep_class(scores: Tensor, result: Tensor, kind: torch.dtype, axis: int = -1) -> Tensor:
    """``result`` rounded to ``kind``, with the predicted classes of ``scores`` along an axis."""
    rounded = result.to(kind)
    wanted = scores.argmax(dim=axis, keepdim=True)
    above = _next_above(rounded.amax(dim=axis, keepdim=True))
    kept = rounded.argmax(dim=axis, keepdim=True) == wanted
    return torch.where(kept, rounded, rounded.scatter(axis, wanted, above))


def _next_above(values: Tensor) -> Tensor:
    """`torch.nextafter` of numbers other than 0, which cannot be exported."""
    wide = values.to(torch.promote_types(values.dtype, torch.float32))
    return (wide + 0.75 * torch.finfo(values.dtype).eps * wide.abs()).to(values.dtype)


def _like_probs(logits: Tensor) -> bool:
    """`look_like_probs` for tensors, on the device of the logits."""
    try:
        return bool(like_probs(logits, len(logits) >= MANY))
    except RuntimeError:  # for the tensors of a tracer, which have no numbers
        return False


def _traced() -> bool:
    traced = torch.jit.is_tracing() or torch.compiler.is_compiling()
    return bool(traced or torch.onnx.is_in_onnx_export())


def _require_eager(recalibrator: Recalibrator) -> None:
    if _traced():
        names = ", ".join(kind.__name__ for kind in _ARITHMETIC)
        raise RuntimeError(
            f"{type(recalibrator).__name__} cannot be traced, exported or compiled, because it is "
            f"not plain arithmetic; call the module itself, or use one of {names}"
        )


# Each of these takes the logits, the buffers, the recalibrator and the original type of the logits,
# and returns the result of `forward`.


def _temperature(z: Tensor, of: dict[str, Tensor], _: Any, __: torch.dtype) -> Tensor:
    if z.ndim == 1:
        return z / of["temperature_"]
    return _tempered(z, of["temperature_"])


def _ensemble(z: Tensor, of: dict[str, Tensor], _: Any, __: torch.dtype) -> Tensor:
    possible = _possible(z)
    z = torch.where(possible, z, -torch.inf)
    uniform = possible.to(z.dtype) / possible.sum(dim=1, keepdim=True)
    members = [_tempered(z, of["temperature_"]), _tempered(z, 1.0), uniform.log()]
    weighted = [member + w.log() for member, w in zip(members, of["weights_"], strict=True)]
    return torch.logsumexp(torch.stack(weighted), dim=0)


def _affine(z: Tensor, of: dict[str, Tensor], method: Any, __: torch.dtype) -> Tensor:
    possible = _possible(z)
    z = z - z.amax(dim=1, keepdim=True)
    if isinstance(method, (DirichletCalibration, StructuredMatrixScaling)):
        z = torch.where(possible, z, -torch.inf)
        z = torch.log_softmax(z / of.get("temperature_", 1.0), dim=1)
        x = torch.where(possible, z, _mean(z, possible))
    else:
        x = torch.where(possible, z - _mean(z, possible), 0.0)
    weights = of["weights_"]
    scores = (x * weights if weights.ndim == 1 else x @ weights.T) + of["intercept_"]
    return torch.log_softmax(torch.where(possible, scores, -torch.inf), dim=1)


def _beta_on_confidence(z: Tensor, of: dict[str, Tensor], _: Any, __: torch.dtype) -> Tensor:
    top = z.argmax(dim=1, keepdim=True)
    z = torch.where(_possible(z), z - z.amax(dim=1, keepdim=True), -torch.inf)
    others = (z / of["temperature_"]).scatter(1, top, -torch.inf)
    rest = others.logsumexp(dim=1, keepdim=True)
    alone = rest == -torch.inf
    rest = torch.where(alone, 0.0, rest)
    positive, negative = nn.functional.logsigmoid(-rest), nn.functional.logsigmoid(rest)
    odds = of["a_"] * positive - of["b_"] * negative + of["c_"]
    confidence = torch.where(alone, 0.0, nn.functional.logsigmoid(odds))
    return (nn.functional.logsigmoid(-odds) + others - rest).scatter(1, top, confidence)


def _platt(z: Tensor, of: dict[str, Tensor], method: Any, kind: torch.dtype) -> Tensor:
    positive, negative = _log_parts(z, of, method, kind)
    logits = z if method.inputs == "logits" else positive - negative
    return of["slope_"] * logits + of["intercept_"]


def _beta(z: Tensor, of: dict[str, Tensor], method: Any, kind: torch.dtype) -> Tensor:
    positive, negative = _log_parts(z, of, method, kind)
    return of["a_"] * positive - of["b_"] * negative + of["c_"]


def _tempered(z: Tensor, temperature: Any) -> Tensor:
    return torch.log_softmax((z - z.amax(dim=1, keepdim=True)) / temperature, dim=1)


def _possible(z: Tensor) -> Tensor:
    """Which classes are not masked."""
    return z.amax(dim=1, keepdim=True) - z < FAR


def _mean(z: Tensor, possible: Tensor) -> Tensor:
    total = torch.where(possible, z, 0.0).sum(dim=1, keepdim=True)
    return total / possible.sum(dim=1, keepdim=True)


def _log_parts(
    values: Tensor, of: dict[str, Tensor], method: Any, kind: torch.dtype
) -> tuple[Tensor, Tensor]:
    """`BinaryRecalibrator._log_parts` for scores of the original type ``kind``."""
    if method.inputs == "logits":
        return nn.functional.logsigmoid(values), nn.functional.logsigmoid(-values)
    return _log_of_probs(values, of["zero_"], kind)


def _log_of_probs(probs: Tensor, zero: Tensor, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """Log p and log(1 - p) for the original type ``kind``, as in `calib_utils._numerics`."""
    double = kind == torch.float64 and probs.dtype == torch.float64
    limits = torch.finfo(torch.float64 if double else torch.float32)
    probs = probs.maximum(zero.clamp(min=limits.tiny * limits.eps))
    if probs.ndim == 1:
        probs = probs.minimum(1 - zero.clamp(min=limits.eps / 2))
    return probs.log(), torch.log1p(-probs)


_Arithmetic = Callable[[Tensor, dict[str, Tensor], Any, torch.dtype], Tensor]
_ARITHMETIC: dict[type, tuple[_Arithmetic, tuple[str, ...]]] = {
    TemperatureScaling: (_temperature, ("temperature_",)),
    EnsembleTemperatureScaling: (_ensemble, ("temperature_", "weights_")),
    VectorScaling: (_affine, ("weights_", "intercept_")),
    MatrixScaling: (_affine, ("weights_", "intercept_")),
    DirichletCalibration: (_affine, ("weights_", "intercept_")),
    StructuredMatrixScaling: (_affine, ("temperature_", "weights_", "intercept_")),
    BetaOnConfidence: (_beta_on_confidence, ("temperature_", "a_", "b_", "c_")),
    PlattScaling: (_platt, ("slope_", "intercept_")),
    BetaCalibration: (_beta, ("a_", "b_", "c_")),
}
