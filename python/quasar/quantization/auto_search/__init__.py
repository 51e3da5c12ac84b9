"""Where AMD Quark's package keeps its searches."""
from ...auto_search import AutoSearch, AutoSearchConfig, AutoSearchPro, SearchSpace, get_auto_search_config

__all__ = ["AutoSearch", "AutoSearchConfig", "AutoSearchPro", "SearchSpace", "get_auto_search_config"]
