"""Where AMD Quark's package keeps AutoSearchConfig."""
from ...auto_search import AutoSearch, AutoSearchConfig, SearchSpace

__all__ = ["AutoSearch", "AutoSearchConfig", "SearchSpace"]
