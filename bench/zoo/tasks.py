"""What counts in the terms of a task: agreement with the float model, 0 … 1. Each takes the outputs of all samples, float's and the other's: lists of lists of arrays."""
import numpy as np


def of_samples(one):
    """one(float output, output) -> number; the first output, mean over the samples"""
    return lambda wanted, got: float(np.mean([one(a[0], b[0]) for a, b in zip(wanted, got)]))


def classes(axis=-1):
    """Share of equal answers, at every place"""
    return "same answer", of_samples(lambda a, b: np.mean(a.argmax(axis) == b.argmax(axis)))


def decisions(threshold=0.5):
    return "same decision", of_samples(lambda a, b: np.mean((a > threshold) == (b > threshold)))


def overlap(threshold=0.5, output=0, scores=lambda x: x):
    """Intersection over union of what lies above the threshold, over all samples"""
    def iou(wanted, got):
        pairs = [(scores(a[output]) > threshold, scores(b[output]) > threshold) for a, b in zip(wanted, got)]
        union = sum(np.sum(a | b) for a, b in pairs)
        return float(sum(np.sum(a & b) for a, b in pairs) / union) if union else 1.0
    return "IoU", iou


def lines(blank=0):
    """Share of lines read alike: the best symbol of each step, repetitions and blanks left out"""
    def read(x):
        best = x.argmax(-1).ravel() if x.shape[-1] > 1 and x.ndim > 2 else x.ravel().astype(int)
        return [int(k) for k, before in zip(best, [blank, *best[:-1]]) if k not in (blank, before)]
    return "lines read alike", of_samples(lambda a, b: read(a) == read(b))


def cosine(output=0):
    def one(a, b):
        a, b = a[output].ravel().astype(np.float64), b[output].ravel().astype(np.float64)
        return a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-30)
    return "cosine", lambda wanted, got: float(np.mean([one(a, b) for a, b in zip(wanted, got)]))


def within(distance):
    return f"within {distance:g}", of_samples(lambda a, b: np.mean(np.abs(a - b) <= distance))


def relative(wanted, got):
    """Distance beside the size of the float output, of the worst output: the root of the summed squares over all samples"""
    worst = 0.0
    for k, first in enumerate(wanted[0]):
        if first.dtype.kind != "f" or not first.size: continue
        error = size = 0.0
        for a, b in zip(wanted, got):
            if a[k].shape != b[k].shape: return None
            known = np.isfinite(a[k])
            error += np.sum((a[k][known].astype(np.float64) - b[k][known])**2)
            size += np.sum(a[k][known].astype(np.float64)**2)
        if not np.isfinite(error): return float("inf")
        worst = max(worst, float(np.sqrt(error / size))) if size else worst
    return worst
