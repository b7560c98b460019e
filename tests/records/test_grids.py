"""Records by the level of their factor, and their protocol in words."""

import dataclasses

import pytest

from calib_utils.records import by_level, describe_protocol, load_grid
from calib_utils.records.experiments import save_experiment
from tests.run_cases import CALIBRATED, record


class TestLevels:
    def test_sorted_by_value_and_seed(self):
        runs = [record(level, seed, 0.0) for level in (56, 8, 14) for seed in (1, 0)]
        found = by_level(runs)
        assert list(found) == [8, 14, 56]
        assert {tuple(r.seed for r in runs) for runs in found.values()} == {(0, 1)}

    @pytest.mark.parametrize(
        "change",
        [
            {"recipe": {"epochs": 2}},
            {"training_images": 9},
            {"grid": "width"},
            {"network": "other"},
        ],
    )
    def test_protocols_are_never_mixed(self, change):
        runs = [record(8, 0, 0.0), record(14, 0, 0.0, **change)]
        with pytest.raises(ValueError, match="records: expected runs of one protocol, found"):
            by_level(runs)

    def test_the_factor_itself_may_be_part_of_the_recipe(self):
        runs = [
            dataclasses.replace(record(8, 0, 0.0), factor="weight_decay", value=x)
            for x in (0.0, 0.1)
        ]
        for run in runs:
            run.recipe["weight_decay"] = run.value
        assert list(by_level(runs)) == [0.0, 0.1]

    def test_load_grid(self, tmp_path):
        for run in CALIBRATED:
            save_experiment(run, tmp_path)
        found = load_grid("depth", "cpu", tmp_path)
        assert [r.name for r in found] == [r.name for r in CALIBRATED]
        with pytest.raises(ValueError, match="no records of 'width' in the protocol 'gpu'; make"):
            load_grid("width", "gpu", tmp_path)

    def test_protocol_in_words(self):
        recipe = {"epochs": 24, "milestones": [8, 16], "batch_size": 64, "learning_rate": 0.1}
        recipe |= {"weight_decay": 5e-4}
        made = {"recipe": recipe, "hardware": "a CPU", "date": "2026-11-20"}
        runs = [record(level, seed, 0.0, **made) for level in (8, 14) for seed in (2, 0)]
        assert describe_protocol(runs) == (
            "depth: 4 runs, seeds 0, 2; 150 training images of scikit-learn's digits, 24 epochs, "
            "batches of 64, learning rate 0.1, divided by ten after epochs 8 and 16; "
            "weight decay 0.0005; a CPU; 2026-11-20"
        )
        (run,) = [
            dataclasses.replace(r, factor="weight_decay", value=0.5, date="2026-11-21")
            for r in runs[:1]
        ]
        alone = describe_protocol([run])
        assert alone.startswith("depth: 1 run, seed 2; ")
        assert "weight decay" not in alone
        with pytest.raises(ValueError, match="one protocol"):
            describe_protocol([*runs, record(8, 1, 0.0)])

    def test_what_some_levels_set_is_not_what_all_have_in_common(self):
        """A level that says nothing of a setting has the usual one."""
        recipe = {"epochs": 24, "milestones": [8, 16], "batch_size": 64, "learning_rate": 0.1}
        recipe |= {"weight_decay": 5e-4}
        made = {"recipe": recipe, "hardware": "a CPU", "date": "2026-11-20"}
        plain = record(8, 0, 0.0, **made)
        level = {"milestones": [8], "ema_decay": 0.9}
        averaged = record(14, 0, 0.0, **made | {"recipe": recipe | level})
        averaged = dataclasses.replace(averaged, level=level)
        assert len(by_level([plain, averaged])) == 2
        assert describe_protocol([plain, averaged]).endswith(
            "24 epochs, batches of 64, learning rate 0.1; weight decay 0.0005; a CPU; 2026-11-20"
        )


def test_a_protocol_leaves_out_what_the_levels_set():
    """Weight decay is one of the settings that the levels of this grid differ in."""
    text = describe_protocol(load_grid("regularisation", "full"))
    assert text.startswith("regularisation: 6 runs, seeds 0, 1, 2; 45,000 training images")
    assert "weight decay" not in text
