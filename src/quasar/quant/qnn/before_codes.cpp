#include "quasar/quant/qnn/before_codes.hpp"

#include <algorithm>
#include <set>

#include "quasar/quant/pairs.hpp"
#include "quasar/quant/qnn/htp_operators.hpp"

namespace quasar::quant {
namespace {

// In float, or in codes.
bool is_constant(const std::string& value, const graph::Index& index) {
  const graph::Node* const producer = index.producer(value);
  return index.model().initializer(dequantizes(producer) ? producer->inputs.front() : value) != nullptr;
}

// Whether an operator reads them that the compiler has no way to from such a value.
bool is_read_as_codes(const graph::Node& quantize, const graph::Index& index, bool of_sum) {
  for (const graph::Node* dequantize : index.consumers(quantize.outputs.front())) {
    if (!dequantizes(dequantize)) continue;
    for (const graph::Node* reader : index.consumers(dequantize->outputs.front())) {
      const bool has_constant = std::ranges::any_of(reader->inputs, [&](const auto& input) { return is_constant(input, index); });
      const bool named = is_in(never_behind_floats, *reader) || (!of_sum && is_in(rarely_behind_floats, *reader));
      const bool pair_of_values = reader->is("Add") || reader->is("Mul") || reader->is("Min") || reader->is("Max");
      if (named && !(pair_of_values && has_constant)) return true;
    }
  }
  return false;
}

}  // namespace

bool leads_to_codes(const graph::Node& node, const graph::Index& index) {
  std::set<std::string> seen;
  std::vector<const graph::Node*> open{&node};
  while (!open.empty()) {
    const graph::Node* const next = open.back();
    open.pop_back();
    for (const auto& output : next->outputs) {
      for (const graph::Node* reader : index.consumers(output)) {
        if (quantizes(reader) && is_read_as_codes(*reader, index, node.is("ReduceSum"))) return true;
        if (!quantizes(reader) && !reader->is("ReduceMean") && seen.insert(reader->name).second) open.push_back(reader);
      }
    }
  }
  return false;
}

}  // namespace quasar::quant
