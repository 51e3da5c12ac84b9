"""Where Neural Compressor's package keeps its strategies."""
from .strategy import STRATEGIES, TuneStrategy, strategy_registry

__all__ = ["STRATEGIES", "TuneStrategy", "strategy_registry"]
