#include "quasar/quant/config/quantizable.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::quant {
namespace {

// Those that are quantized without pairs around them (standalone.hpp).
constexpr std::array alone{"MatMul", "Gemm", "LSTM", "Gather"};

std::vector<std::string> found_types() {
  std::vector<std::string> out;
  for (const auto& [name, entry] : ops::types::table().items()) {
    for (const auto type : entry.make({})->types()) out.emplace_back(type);
  }
  for (const auto* type : alone) out.emplace_back(type);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace

const std::vector<std::string>& quantizable_types() {
  static const std::vector<std::string> known = found_types();
  return known;
}

std::string quantizable_type(const std::string& key, const std::string& type) {
  for (const auto& name : quantizable_types()) {
    if (normalized(name) == normalized(type)) return name;
  }
  throw Error(key + ": operators of type '" + type + "' have no quantized form" + did_you_mean(type, quantizable_types()));
}

std::string selectable_type(const std::string& key, const std::string& type) {
  for (const auto* replaced : {"BatchNormalization", "Upsample"}) {
    if (normalized(replaced) == normalized(type)) return replaced;
  }
  return quantizable_type(key, type);
}

}  // namespace quasar::quant
