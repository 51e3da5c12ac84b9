"""Float types for op_type_dict and op_name_dict: {"conv1": FP32} keeps an operator in float."""

FP32 = {"activation": {"dtype": ["fp32"]}, "weight": {"dtype": ["fp32"]}}
BF16 = {"activation": {"dtype": ["bf16"]}, "weight": {"dtype": ["bf16"]}}

__all__ = ["BF16", "FP32"]
