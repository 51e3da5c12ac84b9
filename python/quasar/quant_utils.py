"""Where scripts for AMD Quark find enumerations: `from quark.onnx.quant_utils import PowerOfTwoMethod`."""
from .auto_search import CalibrationDataReader
from .enums import (CalibrationMethod, ExtendedQuantFormat, ExtendedQuantType, Int16Method, LayerWiseMethod, PowerOfTwoMethod, QuantFormat,
                    QuantType)

__all__ = ["CalibrationDataReader", "CalibrationMethod", "ExtendedQuantFormat", "ExtendedQuantType", "Int16Method", "LayerWiseMethod", "PowerOfTwoMethod",
           "QuantFormat", "QuantType"]
