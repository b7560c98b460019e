"""Networks that give calibrated probabilities: the same as NumPy, traced and stored."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from packaging.version import Version

from calib_utils.recalibration import (
    CalibratedModule,
    EnsembleTemperatureScaling,
    HistogramBinning,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import (
    BINARY,
    MULTICLASS,
    binary,
    multiclass,
)

ARITHMETIC = {
    **MULTICLASS,
    **{f"binary {name}": BINARY[name] for name in ("platt", "platt, smooth", "beta")},
    "platt of scores": lambda: PlattScaling(inputs="probs"),
    "beta of scores": lambda: BINARY["beta"](inputs="probs"),
    "binary temperature": lambda: TemperatureScaling(),
}


STEPS = {
    **{f"binary {name}": BINARY[name] for name in ("equal width", "equal mass", "isotonic", "bbq")},
    "one versus rest": lambda: OneVersusRest(HistogramBinning()),
}


def fitted(name):
    """A fitted method, and float64 inputs of its own kind."""
    make = (ARITHMETIC | STEPS)[name]
    if name in MULTICLASS or name == "one versus rest":
        return make().fit(*multiclass(300, 4)), torch.tensor(
            multiclass(40, 4, seed=3, dtype=np.float64)[0]
        )
    z, labels = binary(300)
    new = torch.tensor(binary(40, seed=3)[0])
    if "scores" in name:
        z, new = 1 / (1 + np.exp(-z)), new.sigmoid()
        new[:2] = torch.tensor([0.0, 1.0])
    return make().fit(z, labels), new


def network(k=4):
    torch.manual_seed(0)
    return torch.nn.Linear(6, k)


def test_module_gives_log_probabilities():
    inputs, labels = torch.randn(300, 6), torch.randint(0, 4, (300,))
    logits = network()(inputs).detach()
    fitted = TemperatureScaling(temperature=1.5)
    model = CalibratedModule(network(), fitted).eval()
    outputs = model(inputs)
    assert outputs.dtype == torch.float32
    assert not outputs.requires_grad
    torch.testing.assert_close(outputs, torch.log_softmax(logits / 1.5, dim=1))
    torch.testing.assert_close(model.predict_proba(inputs), fitted.predict_proba(logits))
    torch.testing.assert_close(
        torch.nn.functional.cross_entropy(outputs, labels),
        torch.nn.functional.cross_entropy(logits / 1.5, labels),
    )
    assert list(model.network.parameters())


class Named(torch.nn.Module):
    """Returns logits by name, as models of transformers do."""

    def __init__(self, wrap):
        super().__init__()
        self.wrap = wrap

    def forward(self, logits):
        return self.wrap(logits=logits)


@pytest.mark.parametrize("wrap", [dict, SimpleNamespace])
def test_module_takes_logits_by_name(wrap):
    logits = torch.randn(2, 3, 4)
    model = CalibratedModule(Named(wrap), TemperatureScaling(2.0), axis=-1)
    torch.testing.assert_close(model(logits), (logits / 2).log_softmax(dim=-1))
    torch.testing.assert_close(model.predict_proba(logits), (logits / 2).softmax(dim=-1))


def test_outputs_that_are_no_logits_are_refused():
    for wrap in (lambda logits: (logits,), lambda logits: {"scores": logits}):
        model = CalibratedModule(Named(wrap), TemperatureScaling(2.0))
        with pytest.raises(ValueError, match="a tensor, or a dict or an object with logits"):
            model(torch.randn(2, 3))
    model = CalibratedModule(torch.nn.Identity(), TemperatureScaling(2.0))
    with pytest.raises(ValueError, match=r"found torch\.int64"):
        model(torch.tensor([[3, 2, 1, 0, 0]]))
    with pytest.raises(ValueError, match=r"^network: .* found a single number"):
        model(torch.tensor(0.3))


@pytest.mark.parametrize("squeeze", [False, True])
def test_module_for_two_classes(squeeze):
    inputs = torch.randn(300, 6)
    column = network(1)
    z = column(inputs).detach()[:, 0]
    fitted = PlattScaling().fit(z, (z + torch.randn(300) > 0).long())
    net = torch.nn.Sequential(column, torch.nn.Flatten(0)) if squeeze else column
    outputs = CalibratedModule(net, fitted)(inputs)
    assert outputs.shape == ((300,) if squeeze else (300, 1))
    torch.testing.assert_close(outputs.flatten(), fitted.slope_ * z + fitted.intercept_)
    probs = CalibratedModule(net, fitted).predict_proba(inputs)
    torch.testing.assert_close(probs.flatten(), fitted.predict_proba(z))


@pytest.mark.parametrize("make", [TemperatureScaling, EnsembleTemperatureScaling])
@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64"])
def test_no_rounding_changes_the_predicted_class(make, kind):
    """Logits of 100 classes often are so near each other that divided by 3 they round to one."""
    dtype = getattr(torch, kind)
    logits = (2 * torch.randn(5_000, 100, generator=torch.Generator().manual_seed(0))).to(dtype)
    two = torch.tensor([[2.0, 2.0 + torch.finfo(dtype).eps * 2, -1.0]] * 4, dtype=dtype)
    for z in (logits, two):
        labels = torch.arange(len(z)) % z.shape[1]
        method = make().fit(torch.cat([z.float()] * 2), torch.cat([z.argmax(dim=1), labels]))
        method.temperature_ = 3.0
        model, expected = CalibratedModule(torch.nn.Identity(), method), z.argmax(dim=1)
        for found in (
            model(z), model.predict_proba(z), method.predict_proba(z), method.predict_log_proba(z)
        ):  # fmt: skip
            assert found.dtype == dtype
            assert (found.argmax(dim=1) == expected).all()
        in_double = torch.tensor(method.predict_proba(z.double().numpy()))
        atol = 2 * torch.finfo(dtype).eps
        torch.testing.assert_close(model.predict_proba(z).double(), in_double, atol=atol, rtol=atol)
        torch.testing.assert_close(model(z).double(), in_double.log(), atol=atol, rtol=2 * atol)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32"])
def test_nor_that_of_scores(kind):
    z = torch.tensor([1e-4, -1e-4, 1e-7, 0.0, 3.0, -3.0] * 20, dtype=getattr(torch, kind))
    method = TemperatureScaling(3.0).fit(z.float().numpy(), np.arange(120) % 2)
    for shape in ((-1,), (-1, 1)):
        model = CalibratedModule(torch.nn.Identity(), method)
        found = model.predict_proba(z.reshape(shape))
        assert ((found > 0.5).flatten() == (z > 0)).all()


@pytest.mark.parametrize(("shape", "digits"), [((2, 150, 4), 7), ((300,), 2), ((300, 1), 7)])
def test_a_module_behind_a_softmax_says_so_once(shape, digits):
    torch.manual_seed(0)
    binary = len(shape) == 1 or shape[-1] == 1
    z = torch.randn(shape)
    probs = (z.sigmoid() if binary else z.softmax(dim=-1)).round(decimals=digits)
    recalibrator = PlattScaling() if binary else TemperatureScaling(2.0)
    if binary:
        recalibrator.fit(z.flatten(), (z.flatten() + torch.randn(300) > 0).long())
    model = CalibratedModule(torch.nn.Identity(), recalibrator, axis=-1)
    if binary:
        model(probs[:3])  # too few to tell
    with pytest.warns(UserWarning, match="like probabilities"):
        model(probs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(probs)
        CalibratedModule(torch.nn.Identity(), recalibrator, axis=-1)(z)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", ARITHMETIC | STEPS)
def test_module_agrees_with_its_own_recalibrator(name, dtype):
    method, inputs = fitted(name)
    inputs = inputs.to(dtype)
    if "scores" in name and dtype == torch.bfloat16:
        inputs = inputs[2:]
    expected = method.predict_proba(inputs)
    model = CalibratedModule(torch.nn.Identity(), method)
    assert model(inputs).dtype == dtype
    atol = {torch.float64: 1e-12, torch.bfloat16: 3e-2}[dtype]
    torch.testing.assert_close(
        model.predict_proba(inputs).double(), expected.double(), atol=atol, rtol=atol
    )


@pytest.mark.parametrize("size", [40.0, 1e30])
@pytest.mark.parametrize("name", ["binary platt", "binary beta", "binary temperature"])
def test_log_odds_stay_right_where_a_probability_rounds_to_one(name, size):
    method, _ = fitted(name)
    z = torch.tensor([-size, size], dtype=torch.float64)
    found = CalibratedModule(torch.nn.Identity(), method)(z)
    if name == "binary platt":
        expected = method.slope_ * z + method.intercept_
    elif name == "binary beta":  # log s is z, or -exp(-z), up to exp(-36)
        expected = torch.stack([method.a_ * z[0] + method.c_, method.b_ * z[1] + method.c_])
    else:
        expected = z / method.temperature_
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mask", [-torch.inf, -1e9])
@pytest.mark.parametrize("name", MULTICLASS)
def test_module_knows_masked_classes(name, mask):
    method, inputs = fitted(name)
    if name == "ensemble":
        method.weights_ = np.array([0.4, 0.2, 0.4])  # the last of which counts possible classes
    inputs[::2, 1] = mask
    probs = CalibratedModule(torch.nn.Identity(), method).predict_proba(inputs)
    torch.testing.assert_close(probs, method.predict_proba(inputs), atol=1e-12, rtol=1e-9)
    assert (probs[::2, 1] == 0).all()


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", ["temperature", "one versus rest"])
@pytest.mark.parametrize(("axis", "shape"), [(1, (2, 4, 3, 5)), (1, (2, 4, 7)), (-1, (2, 7, 4))])
def test_classes_are_found_on_their_axis(name, axis, shape, kind):
    method, _ = fitted(name)
    torch.manual_seed(0)
    logits = 2 * torch.randn(shape, dtype=torch.float64).to(kind)
    rows = logits.movedim(axis, -1).reshape(-1, 4)
    expected = method.predict_proba(rows).reshape(logits.movedim(axis, -1).shape).movedim(-1, axis)
    for given in (None, axis):
        model = CalibratedModule(torch.nn.Identity(), method, axis=given)
        found = model.predict_proba(logits)
        torch.testing.assert_close(
            found, expected, atol=1e-12 if kind == torch.float64 else 1e-2, rtol=0
        )
        torch.testing.assert_close(model(logits).softmax(axis), found, atol=3e-2, rtol=0)


def test_an_axis_that_is_not_clear_is_asked_for():
    maps, square = torch.randn(2, 3, 4, 5), torch.randn(2, 4, 4)
    fixed, of_four = TemperatureScaling(1.5), fitted("temperature")[0]
    for method, logits in [(fixed, maps), (of_four, square), (of_four, torch.randn(2, 3, 5))]:
        with pytest.raises(ValueError, match="axis=-1 where they are last"):
            CalibratedModule(torch.nn.Identity(), method)(logits)
    with pytest.raises(ValueError, match=r"a network that returns \(N,\)"):
        CalibratedModule(torch.nn.Identity(), fitted("binary platt")[0])(torch.randn(2, 1, 4, 2))
    with pytest.raises(ValueError, match="axis: expected 1 or -1"):
        CalibratedModule(torch.nn.Identity(), fixed, axis=2)
    for axis in (1, -1):
        found = CalibratedModule(torch.nn.Identity(), fixed, axis=axis).predict_proba(maps)
        torch.testing.assert_close(found, (maps / 1.5).softmax(axis))


def test_training_mode_is_told_once():
    layers = torch.nn.Sequential(network(), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))
    model, x = CalibratedModule(layers, TemperatureScaling(2.0)), torch.randn(16, 6)
    with pytest.warns(UserWarning, match="it is in training mode"):
        model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(x)
        model.eval()
        torch.testing.assert_close(model(x), model(x), rtol=0, atol=0)
        CalibratedModule(network().eval(), TemperatureScaling(2.0))(x)


def test_another_number_of_classes_is_an_error():
    model = CalibratedModule(torch.nn.Identity(), fitted("temperature")[0])
    with pytest.raises(ValueError, match="expected 4 classes, as in fit, found 3"):
        model(torch.zeros(5, 3))
    with pytest.raises(RuntimeError, match="is not fitted"):
        CalibratedModule(torch.nn.Identity(), VectorScaling())


@pytest.mark.parametrize("name", ARITHMETIC)
def test_what_was_learned_is_in_the_state_and_comes_back(name):
    method, inputs = fitted(name)
    model = CalibratedModule(torch.nn.Identity(), method)
    other = copy.deepcopy(method)
    for key, value in model.state_dict().items():
        setattr(other, key, (value / 2 + 0.1).numpy() if value.ndim else float(value / 2 + 0.1))
        if key == "weights_" and name == "ensemble":
            other.weights_ = np.array([0.2, 0.3, 0.5])
    target = CalibratedModule(torch.nn.Identity(), other)
    assert not torch.allclose(target(inputs), model(inputs))
    target.load_state_dict(model.state_dict())
    torch.testing.assert_close(target(inputs), model(inputs), rtol=0, atol=0)
    # The recalibrator says the same as the buffers, and the user's own is left alone.
    expected = method.predict_proba(inputs)
    torch.testing.assert_close(target.recalibrator.predict_proba(inputs), expected)
    assert not torch.allclose(other.predict_proba(inputs), expected)


def test_a_state_that_is_not_finite_is_refused():
    model = CalibratedModule(torch.nn.Identity(), TemperatureScaling(2.0))
    assert list(model.state_dict()) == ["temperature_"]
    with pytest.raises(ValueError, match="temperature_: expected a finite number"):
        model.load_state_dict({"temperature_": torch.tensor(torch.nan)})
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict({})
    assert model.state_dict() == {"temperature_": 2.0}
    model.load_state_dict({"temperature_": torch.tensor(4.0)})
    probs = model.recalibrator.predict_proba(torch.tensor([[0.0, 4.0]]))
    assert probs[0, 1].item() == pytest.approx(0.7310586)


WAYS = [(name, "export") for name in ARITHMETIC]
WAYS += [(name, way) for name in ("ensemble", "binary beta") for way in ("trace", "compile")]


@pytest.mark.filterwarnings("ignore:.*trace")  # of shapes, which stay as they are
@pytest.mark.parametrize(("name", "way"), WAYS)
def test_plain_arithmetic_can_be_traced(name, way):
    method, inputs = fitted(name)
    model = CalibratedModule(torch.nn.Identity(), method).eval()
    example, other = inputs[:7], inputs[7:].flip(0)
    if way == "trace":
        traced = torch.jit.trace(model, example)
    elif way == "export":
        rows = torch.export.Dim("rows", min=2)
        traced = torch.export.export(model, (example,), dynamic_shapes=(({0: rows},),)).module()
    else:
        torch.compiler.reset()
        traced = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(traced(example), model(example))
    torch.testing.assert_close(traced(other), model(other))


SAYS_WHY = pytest.mark.skipif(
    Version(torch.__version__) < Version("2.9"),
    reason="this PyTorch does not pass on what is raised while it exports or compiles",
)


@pytest.mark.parametrize(
    "way", ["trace", *(pytest.param(way, marks=SAYS_WHY) for way in ("export", "compile"))]
)
def test_maps_of_steps_say_that_they_cannot_be_traced(way):
    method, inputs = fitted("binary isotonic")
    model = CalibratedModule(torch.nn.Identity(), method).eval()
    torch.compiler.reset()
    ways = {
        "trace": lambda: torch.jit.trace(model, inputs),
        "export": lambda: torch.export.export(model, (inputs,)),
        "compile": lambda: torch.compile(model, backend="eager", fullgraph=True)(inputs),
    }
    with pytest.raises(Exception, match="cannot be traced, exported or compiled"):
        ways[way]()


def test_a_fitted_temperature_that_was_loaded_says_how_it_was_fitted():
    logits, labels = multiclass(300, 4)
    model = CalibratedModule(torch.nn.Identity(), TemperatureScaling(1.5).fit(logits, labels))
    other = CalibratedModule(torch.nn.Identity(), TemperatureScaling(2.5))
    model.load_state_dict(other.state_dict())
    found = model.recalibrator.predict_proba(logits)
    np.testing.assert_array_equal(found, TemperatureScaling(2.5).predict_proba(logits))


def test_module_says_where_a_state_is_without_the_map():
    logits, labels = multiclass()
    steps = OneVersusRest(HistogramBinning()).fit(logits, labels)
    model = CalibratedModule(torch.nn.Identity(), steps)
    with pytest.warns(UserWarning, match="parameters of OneVersusRest are in no state_dict"):
        model.load_state_dict(model.state_dict())
