"""Where AMD Quark's scripts find configurations."""
from ...auto_search import Config, QuantizationConfig

__all__ = ["Config", "QuantizationConfig"]
