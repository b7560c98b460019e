"""The ResNet-34 of the course, as the book's pictures show it."""

from __future__ import annotations

from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import PredictionRecord, load_record


def resnet34() -> tuple[PredictionRecord, PredictionRecord, TemperatureScaling]:
    """Its validation and test predictions, and temperature scaling fitted on the former."""
    validation, test = (load_record("resnet34-cifar100", split) for split in ("validation", "test"))
    return validation, test, TemperatureScaling().fit(validation.logits, validation.labels)
