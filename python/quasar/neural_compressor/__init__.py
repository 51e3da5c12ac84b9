"""Intel Neural Compressor's names for ONNX models: scripts that were written for it change only their imports.

    from neural_compressor import quantization     ->     from quasar.neural_compressor import quantization

docs/coming_from_inc.md says what becomes of each setting.
"""
from . import config, data, metric, model, quantization, strategy
from .config import AccuracyCriterion, PostTrainingQuantConfig, TuningCriterion, options
from .data import DataLoader
from .metric import Metric


def set_workspace(workspace: str) -> None:
    """Where results of fit() go; a folder that holds an earlier search gets a number behind its name."""
    options.workspace = workspace


def set_random_seed(seed: int) -> None:
    """The seed of everything random in fit()."""
    options.random_seed = seed


def set_resume_from(resume_from: str) -> None:
    """The output folder of an earlier fit() with which the next one goes on."""
    options.resume_from = resume_from


__all__ = ["AccuracyCriterion", "DataLoader", "Metric", "PostTrainingQuantConfig", "TuningCriterion", "config", "data", "metric", "model", "options",
           "quantization", "set_random_seed", "set_resume_from", "set_workspace", "strategy"]
