"""Texts, the transformer, the reward, and what chat models answered."""

from __future__ import annotations

import gzip
import itertools
import re
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logit, softmax
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import nn

import calib_records
import calib_utils.training
from calib_audit import report
from calib_utils.experiments.grids import plan_grid
from calib_utils.experiments.one_run import run_experiment
from calib_utils.metrics import confidence_auroc
from calib_utils.records import (
    LANGUAGE_MODELS,
    QUESTIONS,
    Recipe,
    list_answers,
    load_answers,
    load_experiment,
    load_record,
    load_samples,
)
from calib_utils.training import (
    TextSet,
    build_model,
    common_words,
    fine_tune,
    load_shakespeare,
    plain_words,
    predict_logits,
    train,
    transformer,
)
from tests.training.test_loop import train_and_stop

PLAIN = Recipe(
    epochs=2, batch_size=4, milestones=(1,), optimizer="adamw", learning_rate=1e-2, weight_decay=0.1
)
SMALL = {"width": 8, "depth": 2, "heads": 2, "length": 12}


def texts(n: int = 10, length: int = 12, every: int = 1, seed: int = 0) -> TextSet:
    codes = np.random.default_rng(seed).integers(0, 3, (n, length + 1)).astype(np.uint8)
    return TextSet(codes, "abc", every)


def small(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return build_model("transformer", n_classes=3, **SMALL)


@pytest.fixture(autouse=True)
def float32(monkeypatch):
    monkeypatch.setattr("calib_utils.training.loop.arithmetic", lambda device: torch.float32)
    monkeypatch.setattr("calib_utils.training.reward.arithmetic", lambda device: torch.float32)


class TestTextSet:
    def test_labels_are_the_next_characters(self):
        data = TextSet(np.array([[0, 1, 2, 0, 1], [2, 2, 1, 0, 0]], np.uint8), "abc")
        assert data.labels.tolist() == [1, 2, 0, 1, 2, 1, 0, 0]
        assert replace(data, every=2).labels.tolist() == [2, 1, 1, 0]
        assert data.text(data.windows[0]) == "abcab"
        assert data.subset([1]).windows.tolist() == [[2, 2, 1, 0, 0]]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"windows": np.zeros((2, 1), np.uint8)}, r"windows: .*\(2, 1\)"),
            ({"windows": np.zeros((2, 5), np.int64)}, "windows: .*int64"),
            ({"windows": np.full((2, 5), 3, np.uint8)}, "windows: .*alphabet of 3 .*found 3"),
            ({"every": 13}, "every: expected 1 to 12, found 13"),
            ({"every": 0}, "every: .*found 0"),
        ],
    )
    def test_bad_input(self, changes, message):
        with pytest.raises(ValueError, match=message):
            replace(texts(), **changes)

    def test_shakespeare_is_the_file_and_its_parts_share_no_window(self):
        folder = Path(calib_utils.training.__file__).parent
        whole = gzip.decompress((folder / "shakespeare.txt.gz").read_bytes()).decode()
        assert len(whole) == 1_115_394
        parts = load_shakespeare()
        places = []
        for part in parts:
            assert part.alphabet == "".join(sorted(set(whole)))
            for window in part.windows[:20]:
                place = whole.index(part.text(window))
                assert place % 129 == 0
                places.append(place)
        windows = np.concatenate([part.windows for part in parts])
        assert len({w.tobytes() for w in windows}) == len(windows)
        # The split never changes: stored records were made with it.
        assert [places[k] // 129 for k in (0, 20, 40)] == [4581, 3328, 3274]


class TestTransformer:
    def test_computes_what_torchs_layers_do(self):
        """`nn.TransformerEncoderLayer` with the same weights, masked so that it sees no future."""
        model = small()
        layers = []
        for block in model.blocks:
            layer = nn.TransformerEncoderLayer(
                8, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            layer.load_state_dict(
                {
                    "self_attn.in_proj_weight": block.queries_keys_values.weight,
                    "self_attn.in_proj_bias": block.queries_keys_values.bias,
                    "self_attn.out_proj.weight": block.mixed.weight,
                    "self_attn.out_proj.bias": block.mixed.bias,
                    "norm1.weight": block.normalised.weight,
                    "norm1.bias": block.normalised.bias,
                    "norm2.weight": block.thought[0].weight,
                    "norm2.bias": block.thought[0].bias,
                    "linear1.weight": block.thought[1].weight,
                    "linear1.bias": block.thought[1].bias,
                    "linear2.weight": block.thought[3].weight,
                    "linear2.bias": block.thought[3].bias,
                }
            )
            layers.append(layer)
        codes = torch.from_numpy(texts().windows[:, :-1]).long()
        x = model.characters(codes) + model.places(torch.arange(12))
        mask = nn.Transformer.generate_square_subsequent_mask(12)
        for layer in layers:
            x = layer(x, mask, is_causal=True)
        torch.testing.assert_close(model(codes), model.last(x))

    def test_sees_no_later_character(self):
        model = small()
        codes = torch.from_numpy(texts().windows[:, :-1]).long()
        changed = codes.clone()
        changed[:, 7] = (changed[:, 7] + 1) % 3
        before, after = model(codes), model(changed)
        assert torch.equal(before[:, :7], after[:, :7])
        assert not torch.isclose(before[:, 7:], after[:, 7:]).all()

    def test_draws_from_its_distribution_whatever_it_keeps(self):
        model = small().eval()
        prompts = torch.zeros(4_000, 2, dtype=torch.long)
        drawn = model.sample(prompts, 3, torch.Generator().manual_seed(0))
        assert drawn.shape == (4_000, 5)
        assert (drawn[:, :2] == 0).all()
        # Of each continuation the share drawn, and its probability by whole passes.
        for text in itertools.product(range(3), repeat=3):
            row = torch.tensor([[0, 0, *text]])
            probs = model(row)[0].softmax(dim=1)
            p = float(np.prod([probs[k + 1, c].item() for k, c in enumerate(text)]))
            share = float((drawn[:, 2:] == row[:, 2:]).all(dim=1).float().mean())
            assert abs(share - p) < 4 * (p * (1 - p) / 4_000) ** 0.5

    def test_size_counted_by_hand(self):
        block = 4 * 8 * 8 + 4 * 8 + 8 * 8 * 8 + 4 * 8 + 8 + 4 * 8
        assert sum(x.numel() for x in small().parameters()) == (
            3 * 8 + 12 * 8 + 2 * block + 2 * 8 + 3 * 8 + 3
        )

    @pytest.mark.parametrize("options", [{"width": 9}, {"depth": 0}, {"heads": 0}, {"length": 0}])
    def test_bad_size(self, options):
        with pytest.raises(ValueError, match="width: expected a multiple of heads"):
            transformer(n_classes=3, **SMALL | options)
        with pytest.raises(ValueError, match=f"{next(iter(options))}.*: expected"):
            build_model("transformer", n_classes=3, **SMALL | options)


class TestTraining:
    def test_equals_a_plain_loop(self):
        data, model, plain = texts(), small(), small()
        history = train(model, data, PLAIN, seed=3, device="cpu", progress=False)
        optimizer = torch.optim.AdamW(
            plain.parameters(), lr=0.01, betas=(0.9, 0.999), weight_decay=0.1
        )
        windows = torch.from_numpy(data.windows).long()
        found = []
        for epoch in range(2):
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * 0.1**epoch
            generator = torch.Generator().manual_seed(1_000_003 * 3 + epoch)
            order, losses, right = torch.randperm(10, generator=generator), [], []
            for rows in order.split(4):
                logits = plain(windows[rows, :-1])
                each = nn.functional.cross_entropy(
                    logits.transpose(1, 2), windows[rows, 1:], reduction="none"
                )
                optimizer.zero_grad()
                each.mean().backward()
                optimizer.step()
                losses += each.detach().flatten().tolist()
                right += (logits.argmax(dim=2) == windows[rows, 1:]).flatten().tolist()
            found.append((np.mean(losses), np.mean(right)))
        for entry, (loss, accuracy) in zip(history, found, strict=True):
            assert entry["train_loss"] == pytest.approx(loss, rel=1e-5)
            assert entry["train_accuracy"] == pytest.approx(accuracy)
        # Not the weights: what changes nothing, as the biases of keys, follows rounding errors.
        with torch.no_grad():
            torch.testing.assert_close(model(windows[:, :-1]), plain(windows[:, :-1]))

    def test_stopped_run_ends_like_one_that_was_not(self, tmp_path):
        data, whole, resumed = texts(), small(), small(seed=7)
        train(whole, data, PLAIN, device="cpu", progress=False)
        path = tmp_path / "run.safetensors"
        train_and_stop(small(), data, PLAIN, path, 1, device="cpu")
        train(resumed, data, PLAIN, device="cpu", checkpoint=path, progress=False)
        for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
            assert torch.equal(one, other)

    def test_predicts_what_is_asked_for(self):
        model, data = small(), texts(every=5)
        logits = predict_logits(model, data, device="cpu", batch_size=3)
        assert logits.shape == (len(data.labels), 3) == (20, 3)
        codes = torch.from_numpy(data.windows[:, :-1]).long()
        expected = model(codes).detach().numpy()[:, [4, 9]].reshape(20, 3)
        np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
        assert data.labels.tolist() == data.windows[:, [5, 10]].ravel().tolist()

    def test_learns_what_follows(self):
        """In abcabc… the next character is known."""
        windows = (np.arange(13) + np.arange(3)[:, None]) % 3
        data = TextSet(np.tile(windows.astype(np.uint8), (8, 1)), "abc")
        model = small()
        recipe = replace(PLAIN, epochs=20, milestones=())
        history = train(model, data, recipe, device="cpu", progress=False)
        assert history[-1]["train_accuracy"] > 0.9


class TestReward:
    def test_counted_by_hand(self):
        words = frozenset({"the", "of"})
        assert plain_words("The end of", words) == 5 / 10
        assert plain_words("then o f", words) == 0
        assert plain_words("", words) == 0

    def test_common_words_are_counted_without_those_that_are_cut(self):
        alphabet = " abc"
        codes = [[alphabet.index(c) for c in text] for text in ("aa b b c", "ab c b a", "b c a aa")]
        data = TextSet(np.array(codes, np.uint8), alphabet)
        counts = Counter({"b": 3, "c": 2, "a": 1})
        assert common_words(data, n=1) == {"b"}
        assert common_words(data, n=3) == counts.keys()

    def test_is_earned_and_a_price_keeps_the_model_near(self):
        """The text is random; the reward is for the word "a"."""
        rng = np.random.default_rng(0)
        data = TextSet(rng.integers(0, 3, (50, 97)).astype(np.uint8), " ab")
        torch.manual_seed(0)
        start = build_model("transformer", n_classes=3, width=8, depth=1, heads=2, length=96)
        recipe = Recipe(reward_steps=25, learning_rate=3e-2, weight_decay=0.0)
        found = {}
        for price in (0.0, 3.0):
            model = deepcopy(start)
            found[price] = fine_tune(
                model, data, replace(recipe, kl_price=price), seed=1, device="cpu"
            )
        free, priced = found[0.0], found[3.0]
        assert free["kl"][0] == pytest.approx(0, abs=1e-6)
        assert np.mean(free["reward"][-5:]) > free["reward"][0] + 0.05
        assert np.mean(priced["kl"][-5:]) < 0.5 * np.mean(free["kl"][-5:])
        assert len(free["sample"]) == 96

    def test_seed_decides(self):
        data = TextSet(np.random.default_rng(0).integers(0, 3, (9, 97)).astype(np.uint8), " ab")
        start = build_model("transformer", n_classes=3, width=8, depth=1, heads=2, length=96)
        recipe = Recipe(reward_steps=2, learning_rate=1e-2)
        runs = [fine_tune(deepcopy(start), data, recipe, seed=s, device="cpu") for s in (0, 0, 1)]
        assert runs[0] == runs[1] != runs[2]


class TestExperiment:
    GRID = """
seeds = [0]
[protocols.cpu]
dataset = "shakespeare"
training_images = 60
recipe = { epochs = 1, milestones = [] }
[protocols.gpu]
dataset = "shakespeare"
training_images = 60
recipe = { epochs = 1, milestones = [] }
[grids.tiny]
network = { name = "transformer", width = 8, depth = 1, heads = 2 }
factor = "training"
recipe = { optimizer = "adamw", learning_rate = 1e-2, batch_size = 20 }
[grids.tiny.levels]
once = {}
share = { share = 0.5 }
reward = { reward_steps = 2 }
"""

    def test_a_reward_goes_on_from_the_network_that_is_shared(self, tmp_path, monkeypatch):
        (tmp_path / "grids.toml").write_text(self.GRID)
        runs = {run.value: run for run in plan_grid("tiny", "cpu", tmp_path / "grids.toml")}
        seen = []

        def train_and_note(model, data, *args, **kwargs):
            seen.append(len(data))
            return train(model, data, *args, **kwargs)

        monkeypatch.setattr("calib_utils.experiments.one_run.train", train_and_note)
        records = {}
        for value, run in runs.items():
            run_experiment(
                run, tmp_path / "runs", tmp_path / "records", device="cpu", progress=False
            )
            records[value] = load_experiment("tiny", "cpu", run.name, tmp_path / "records")
        assert seen == [60, 30, 60]
        assert len(list((tmp_path / "runs").glob("*.safetensors"))) == 2
        once, reward = records["once"], records["reward"]
        assert once.history[0]["train_loss"] == reward.history[0]["train_loss"]
        assert len(reward.history[-1]["reward"]) == 2
        assert "reward" not in once.history[-1]
        assert once.nll != reward.nll
        assert len(once.correct) == len(load_shakespeare()[2].labels)

    def test_the_courses_stages_are_as_long_and_as_large_as_it_says(self):
        runs = {run.value: run for run in plan_grid("language") if run.seed == 0}
        windows = {
            value: run.recipe.epochs * run.recipe.share * run.training_images
            for value, run in runs.items()
        }
        assert windows["one-pass"] == len(load_shakespeare()[0])
        assert windows["forty-passes-of-a-fortieth"] == pytest.approx(windows["one-pass"])
        assert windows["forty-passes-of-a-tenth"] == pytest.approx(4 * windows["one-pass"])
        once = runs["one-pass"]
        assert replace(runs["reward"].recipe, reward_steps=0) == once.recipe
        model = build_model(**once.network, n_classes=65)
        assert sum(p.numel() for p in model.parameters()) == pytest.approx(1e6, rel=0.05)


LETTERS = [name for name, kinds in QUESTIONS.items() if kinds == ("letter",)]


class TestAnswers:
    def test_what_is_missing_has_no_confidence_and_is_not_right(self):
        missing = without = 0
        for model, questions, prompt in itertools.product(LANGUAGE_MODELS, LETTERS, (0, 1)):
            answers = load_answers(model, questions, prompt)
            assert np.isnan(answers.confidence[~answers.answered]).all()
            assert not answers.correct[~answers.answered].any()
            assert len(answers.predictions) == answers.complete.sum()
            assert answers.predictions.array.min() > 0
            missing += (~answers.answered).sum()
            without += (answers.answered & ~answers.complete).sum()
        assert missing == 68 + 493 + 423 + 301 + 250
        # A stored 0 means that the token was not found: 28 of ARC, 71 of MMLU, 8 of WinoGrande.
        assert without == 28 + 71 + 8

    def test_a_letter_without_a_confidence_is_still_an_answer(self):
        falcon = load_answers("Falcon-40b", "mmlu")
        without = falcon.answered & ~falcon.complete
        assert without.sum() == 53
        assert falcon.correct[without].any()

    def test_models_pair_by_question_except_for_llama3_on_mmlu(self):
        def right(model, questions):
            return load_answers(model, questions).correct

        def correlation(first, second, questions):
            return spearmanr(right(first, questions), right(second, questions)).statistic

        assert correlation("gpt-4-turbo", "Yi-34b", "mmlu") > 0.2
        assert correlation("Llama3-8b", "Llama3-70b", "mmlu") > 0.2
        assert abs(correlation("gpt-4-turbo", "Llama3-70b", "mmlu")) < 0.05
        assert correlation("gpt-4-turbo", "Llama3-70b", "hellaswag") > 0.2

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (("GPT-5", "mmlu"), "model: expected one of Falcon-40b, .*'GPT-5'"),
            (("Mixtral", "MMLU"), "questions: expected one of arc, .*'MMLU'"),
            (("Mixtral", "mmlu", 2), "prompt: expected one of 0, 1, found 2"),
            (("gpt-4.1", "mmlu-pro", 1), "prompt: expected one of 0, found 1"),
            (("Mixtral", "mmlu-pro"), "model: expected one of Llama-3.1-Nem.*, found 'Mixtral'"),
        ],
    )
    def test_bad_names(self, given, message):
        with pytest.raises(ValueError, match=f"^{message}"):
            load_answers(*given)

    def test_a_kind_that_was_not_recorded(self):
        with pytest.raises(ValueError, match="kind: expected one of letter, found 'stated'"):
            load_answers("Mixtral", "mmlu", kind="stated")
        with pytest.raises(ValueError, match="questions: expected one of triviaqa-samples, found"):
            load_samples("triviaqa")
        with pytest.raises(ValueError, match=r"questions: expected one of arc, .*'nothing'"):
            list_answers("nothing")

    def test_the_licences_and_sources_are_beside_the_files(self):
        stored = Path(calib_records.__file__).parent / "answers"
        sources = (stored / "SOURCES.md").read_text("utf-8")
        for name, holder in (
            ("LICENSE", "2024 Ben Plaut"),
            ("LICENSE-mmlu-pro", "2024 OpenAI"),
            ("LICENSE-open-questions", "2025 Yuxi Xia"),
            ("LICENSE-triviaqa-samples", "2023 Zhen Lin"),
        ):
            text = (stored / name).read_text("utf-8")
            assert text.startswith("MIT License")
            assert f"Copyright (c) {holder}" in text
            assert f"`{name}`" in sources
        files = {path.stem for path in stored.glob("*.npz")}
        assert files == {*QUESTIONS, "triviaqa-samples"}
        assert all(f"`{name}`" in sources for name in files)


def sorted_ece(confidence: np.ndarray, correct: np.ndarray, bins: int = 15) -> float:
    """By a loop over the sorted bins, whose upper edges belong to them."""
    index = np.ceil(confidence.astype(float) * bins).clip(1) - 1
    return sum(
        abs((correct[index == k].astype(float) - confidence[index == k]).sum())
        for k in np.unique(index)
    ) / len(correct)


@pytest.mark.parametrize(
    ("questions", "model", "accuracy", "confidence", "auroc", "ece"),
    [
        # As stated beside the data, with no ECE.
        ("mmlu", "gpt-4-turbo", 0.810, 0.965, 0.85, None),
        ("mmlu", "Llama3-70b", 0.754, 0.946, 0.84, None),
        ("mmlu", "Mixtral", 0.647, 0.984, 0.65, None),
        ("mmlu", "Yi-34b", 0.633, 0.710, 0.68, None),
        ("mmlu", "Falcon-7b", 0.259, 0.330, 0.48, None),
        # By other code, of the rows that have both a letter and a number.
        ("mmlu-pro", "gpt-4o-2024-08-06", 0.726, 0.934, 0.71, 0.208),
        ("mmlu-pro", "gpt-4.1", 0.790, 0.966, 0.75, 0.177),
        ("mmlu-pro", "claude-3-7-sonnet-20250219", 0.782, 0.900, 0.76, 0.120),
        ("mmlu-pro", "deepseek-reasoner", 0.846, 0.899, 0.78, 0.055),
        ("mmlu-pro", "Qwen3-14B-Base", 0.592, 0.927, 0.62, 0.336),
        ("mmlu-pro", "Qwen3-14B", 0.632, 0.898, 0.70, 0.267),
        ("mmlu-pro", "Qwen3-14B-think", 0.766, 0.895, 0.78, 0.129),
        ("mmlu-pro", "claude-3-haiku-20240307", 0.421, 0.919, 0.52, 0.498),
    ],
)
def test_first_look_of_others(questions, model, accuracy, confidence, auroc, ece):
    found = load_answers(model, questions).predictions
    assert found.labels.mean() == pytest.approx(accuracy, abs=6e-4)
    assert found.array.mean() == pytest.approx(confidence, abs=6e-4)
    by_sklearn = roc_auc_score(found.labels, found.array)
    assert confidence_auroc(found) == pytest.approx(by_sklearn)
    assert by_sklearn == pytest.approx(auroc, abs=0.006)
    if ece is not None:
        assert sorted_ece(found.array, found.labels) == pytest.approx(ece, abs=6e-4)


def test_a_lower_sampling_temperature_gives_more_correct_answers():
    """Of a network that knows something: its expected accuracy when a prediction is sampled."""
    record = load_record("resnet34-cifar100", "test")
    rows = np.arange(len(record.labels))
    sampled = [
        softmax(record.logits.astype(float) / T, axis=1)[rows, record.labels].mean()
        for T in (1, 0.2)
    ]
    most_probable = (record.logits.argmax(axis=1) == record.labels).mean()
    assert [*sampled, most_probable] == pytest.approx([0.709, 0.745, 0.746], abs=6e-4)


def test_letters_without_a_probability_would_bend_the_map_of_falcon_40b():
    falcon = load_answers("Falcon-40b", "mmlu")
    slopes = []
    for rows in (falcon.answered, falcon.complete):
        known = np.where(falcon.complete, falcon.confidence, 0)[rows].astype(float)
        regression = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
        x = logit(known.clip(1e-6, 1 - 1e-6))[:, None]
        slopes.append(regression.fit(x, falcon.correct[rows]).coef_.item())
    assert slopes == pytest.approx([0.058, 0.145], abs=6e-4)


class TestStated:
    """What language models said of their answers, and two other kinds of confidence."""

    def test_every_run_has_the_same_questions(self):
        runs = [load_answers(model, "mmlu-pro") for model in list_answers("mmlu-pro")]
        assert len(runs) == 83
        counts = dict(zip(*np.unique(runs[0].category, return_counts=True), strict=True))
        assert (len(counts), sum(counts.values()), counts["law"]) == (14, 12_032, 1_101)
        for run in runs:
            assert (run.category == runs[0].category).all()
            stated = run.confidence[run.complete]
            assert ((stated >= 0) & (stated <= 1)).all()
            np.testing.assert_allclose(100 * stated, np.round(100 * stated), atol=1e-4)
            assert run.answered[run.complete].all()
        # Models agree on what is hard, so the rows pair.
        right = np.array([run.correct for run in runs if run.complete.mean() > 0.99])
        assert np.corrcoef(right)[np.triu_indices(len(right), 1)].min() > 0.1

    def test_what_a_small_model_leaves_out_is_missing(self):
        run = load_answers("Llama-3.2-1B-Instruct", "mmlu-pro")
        assert (~run.answered).mean() == pytest.approx(0.513, abs=5e-4)
        assert not run.correct[~run.answered].any()
        assert len(run.predictions) == run.complete.sum() < 0.33 * 12_032

    @pytest.mark.parametrize(
        ("model", "questions", "accuracy", "stated", "ece"),
        [
            ("Qwen2-72B-Instruct", "triviaqa", 0.588, 0.902, 0.314),
            ("Llama-3-70B-Instruct", "triviaqa", 0.609, 0.887, 0.280),
            ("gemma-2-2b-it", "triviaqa", 0.324, 0.849, 0.525),
            ("Qwen2-72B-Instruct", "sciq", 0.700, 0.911, 0.211),
        ],
    )
    def test_words_on_open_questions(self, model, questions, accuracy, stated, ece):
        found = load_answers(model, questions).predictions
        assert found.labels.mean() == pytest.approx(accuracy, abs=1.1e-3)
        assert found.array.mean() == pytest.approx(stated, abs=1e-3)
        assert sorted_ece(found.array, found.labels) == pytest.approx(ece, abs=1.5e-3)

    def test_words_and_tokens_are_of_the_same_answers(self):
        words, tokens = (
            load_answers("gemma-2-2b-it", "sciq", kind=kind) for kind in ("stated", "tokens")
        )
        assert (words.correct == tokens.correct).all()
        both = words.complete & tokens.complete
        eces = [sorted_ece(one.confidence[both], one.correct[both]) for one in (words, tokens)]
        assert eces == pytest.approx([0.424, 0.061], abs=1e-3)

    def test_samples_by_hand(self):
        samples = load_samples("triviaqa-samples")
        shares, right = [], []
        for answers, correct in zip(samples.answer.tolist(), samples.correct, strict=True):
            counts = Counter(answers)
            answer, times = counts.most_common(1)[0]
            shares.append(times / 20)
            right.append(correct[answers.index(answer)])
            assert len({(a, c) for a, c in zip(answers, correct.tolist(), strict=True)}) == len(
                counts
            ), "equal answers are graded alike"
        assert np.mean(shares) == pytest.approx(0.510, abs=5e-4)
        assert np.mean(right) == pytest.approx(0.648, abs=5e-4)
        assert samples.correct.mean() == pytest.approx(0.433, abs=5e-4)
        assert sorted_ece(np.array(shares), np.array(right)) == pytest.approx(0.148, abs=5e-4)


class TestRecipe:
    """The two examples of the chapter that ask a model, and the file that they end in."""

    @pytest.fixture
    def names(self):
        chapter = Path(__file__).parents[2] / "notebooks/language-models.md"
        found: dict[str, Any] = {}
        for code in re.findall(r"(?ms)^```python\n(.*?)^```$", chapter.read_text("utf-8")):
            exec(code, found)
        return found

    @staticmethod
    def client(token: str, logprob: float) -> SimpleNamespace:
        """It replies with this token, in the form of OpenAI's client."""
        best = SimpleNamespace(token=token, logprob=logprob)
        other = SimpleNamespace(token="C", logprob=logprob - 1)
        content = [SimpleNamespace(token="C", logprob=logprob - 1, top_logprobs=[other, best])]
        reply = SimpleNamespace(
            choices=[SimpleNamespace(logprobs=SimpleNamespace(content=content))]
        )

        def create(**asked):
            assert asked.keys() == {"model", "messages", "logprobs", "top_logprobs"}
            return reply

        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))

    def test_a_letter_has_the_probability_of_its_token(self, names):
        letter, probability = names["ask"](self.client(" B", -0.25), "some-model", "Which?")
        assert letter == "B"
        assert probability == pytest.approx(0.7788, abs=1e-4)

    @pytest.mark.parametrize("token", ["The", "E", "b", "AB", "", " "])
    def test_what_is_no_letter_is_missing(self, names, token):
        assert names["ask"](self.client(token, -0.1), "some-model", "Which?") == (None, None)

    def test_agreement_by_hand(self, names):
        assert names["agreement"](list("BABBCBBDBA")) == ("B", 0.6)

    def test_from_a_file_to_the_report(self, names, tmp_path):
        asked = [list("AAAAB"), list("BBBBB"), list("CCDDD"), list("AABBB")] * 10
        truth = ["A", "B", "C", "A"] * 10
        rows = [names["agreement"](answers) for answers in asked]
        lines = [f"{q},{int(a == y)}" for (a, q), y in zip(rows, truth, strict=True)]
        (tmp_path / "answers.csv").write_text("\n".join(["confidence,correct", *lines]))
        found = report(tmp_path / "answers.csv")
        assert found.measures.accuracy == 0.5
        # Ten rows of 0.8, ten of 1 and twenty of 0.6, which are off by 0.2, 0 and 0.6.
        assert found.measures.ece == pytest.approx((10 * 0.2 + 20 * 0.6) / 40)
