#include "quasar/quant/target.hpp"

namespace quasar::quant {

Json Target::capability(const std::string& op_type) const {
  const bool weighted = op_type == "Conv" || op_type == "ConvTranspose" || op_type == "MatMul" || op_type == "Gemm";
  Json activation{{"dtype", {"uint8"}}, {"scheme", {"asym"}}, {"granularity", {"per_tensor"}}, {"algorithm", {"minmax"}}};
  Json weight{{"dtype", {"int8"}}, {"scheme", {"sym"}}, {"granularity", {"per_channel"}}, {"algorithm", {"minmax"}}};
  if (weighted) {
    activation["algorithm"] = {"minmax", "kl", "percentile"};
    weight["granularity"] = {"per_channel", "per_tensor"};
  }
  return {{"activation", activation}, {"weight", weight}};
}

}  // namespace quasar::quant
