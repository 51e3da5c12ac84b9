"""Where AMD Quark's package keeps Auto Search Pro."""
from ...auto_search import AutoSearchPro, generate_all_configs, get_auto_search_config

__all__ = ["AutoSearchPro", "generate_all_configs", "get_auto_search_config"]
