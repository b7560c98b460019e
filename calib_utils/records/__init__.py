"""The records of runs, from which the course computes: predictions, and experiments.

Records are small files without pickles. `load_record` reads the logits of a network of the
course, `load_grid` the runs of a controlled experiment, `load_answers` the answers of language
models to questions, `load_imagenet`, `load_identifier` and `load_outcomes` predictions of models
that others made.
"""

from calib_utils.records.answers import (
    LANGUAGE_MODELS,
    QUESTIONS,
    Answers,
    Samples,
    list_answers,
    load_answers,
    load_samples,
)
from calib_utils.records.experiments import Experiment, ExperimentRecord
from calib_utils.records.forecasts import Forecast, load_forecasts
from calib_utils.records.grids import by_level, describe_protocol, load_grid
from calib_utils.records.predictions import (
    PredictionRecord,
    list_records,
    load_record,
    save_record,
)
from calib_utils.records.published import (
    IDENTIFIERS,
    IMAGENET_NETWORKS,
    ImageNetPredictions,
    PublishedForecasts,
    load_identifier,
    load_imagenet,
    load_outcomes,
)
from calib_utils.records.recalibrated import Recalibrated, load_recalibrated
from calib_utils.records.superclasses import CIFAR100_SUPERCLASSES

__all__ = [
    "CIFAR100_SUPERCLASSES",
    "IDENTIFIERS",
    "IMAGENET_NETWORKS",
    "LANGUAGE_MODELS",
    "QUESTIONS",
    "Answers",
    "Experiment",
    "ExperimentRecord",
    "Forecast",
    "ImageNetPredictions",
    "PredictionRecord",
    "PublishedForecasts",
    "Recalibrated",
    "Samples",
    "by_level",
    "describe_protocol",
    "list_answers",
    "list_records",
    "load_answers",
    "load_forecasts",
    "load_grid",
    "load_identifier",
    "load_imagenet",
    "load_outcomes",
    "load_recalibrated",
    "load_record",
    "load_samples",
    "save_record",
]
