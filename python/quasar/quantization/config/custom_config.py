"""Where AMD Quark's scripts find configurations by name."""
from ...auto_search import get_default_config

__all__ = ["get_default_config"]
