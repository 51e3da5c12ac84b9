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
    """How quantized operators are written: as pairs around them (QDQ), or as operators on 8-bit codes."""

    QOperator = 0
    QDQ = 1


class ExtendedQuantFormat(Enum):
    """The same, by the name that Quark gives it."""

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


class LayerWiseMethod(Enum):
    """How ranges are found: the percentile that suits each tensor."""

    LayerWisePercentile = 0


class Int16Method(Enum):
    """How ranges are found, for scales that are whole numbers of 16 bits, shifted."""

    MinMax = 0


class ExtendedQuantType(Enum):
    """Types of weights and activations beyond onnxruntime's."""

    QInt8 = 1
    QUInt8 = 2
    QInt16 = 3
    QUInt16 = 4
    QInt32 = 5
    QUInt32 = 6
    QFloat16 = 7
    QBFloat16 = 8
