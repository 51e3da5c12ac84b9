"""The enumerations of onnxruntime and of AMD Quark that search spaces name values by. onnxruntime's own do as well."""
from enum import Enum


class QuantType(Enum):
    """Types of weights and activations."""

    QInt8 = 0
    QUInt8 = 1
    QInt16 = 4
    QUInt16 = 5
    QInt4 = 6
    QUInt4 = 7


class QuantFormat(Enum):
    """How quantized operators are written; Quasar writes QDQ."""

    QOperator = 0
    QDQ = 1


class CalibrationMethod(Enum):
    """How ranges are found, for scales of any value."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3
    LayerWisePercentile = 4


class PowerOfTwoMethod(Enum):
    """How ranges are found, for scales that are powers of two."""

    NonOverflow = 0
    MinMSE = 1
