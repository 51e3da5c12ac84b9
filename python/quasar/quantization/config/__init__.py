"""Where AMD Quark's scripts find configurations."""
from ...auto_search import Config, QuantizationConfig, get_default_config

__all__ = ["Config", "QuantizationConfig", "get_default_config"]
