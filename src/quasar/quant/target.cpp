#include "quasar/quant/target.hpp"

#include "quasar/base/error.hpp"

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

// Of operators without weights the words of weights say nothing.
Json Target::all_of(Json capability) const {
  Json& weight = capability["weight"];
  if (weight["granularity"].size() < 2 || !takes_unsigned_weights()) return capability;  // asymmetric ones are stored as uint8
  weight["dtype"].push_back("uint8");
  weight["scheme"].push_back("asym");
  return capability;
}

std::optional<Saturation> saturation_on(const Target& target, const std::optional<Saturation>& wanted) {
  const auto usual = target.saturation();
  if (wanted && !usual)
    throw Error("saturation is " + name_of(*wanted) +
                ", but this target has no use for the key: its kernels add products in 32 bits; leave it out");
  const bool makes_unsigned = wanted == Saturation::unsigned_weights || wanted == Saturation::avoid;
  if (makes_unsigned && !target.takes_unsigned_weights())
    throw Error("saturation is " + name_of(*wanted) +
                ", which stores weights as uint8, but on this target these run in float; use " +
                name_of(Saturation::raise_scales) + " (its default), " + name_of(Saturation::reduce_range) + " or " +
                name_of(Saturation::ignore));
  return wanted ? wanted : usual;
}

}  // namespace quasar::quant
