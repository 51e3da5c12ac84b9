// What a runtime or processor executes: which (operator, scheme) pairs run in integer kernels there, and where Q/DQ stand.
#pragma once

#include <string>

#include "quasar/base/plugin.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/config.hpp"

namespace quasar::quant {

class Target {
 public:
  virtual ~Target() = default;
  // Whether the target runs this node quantized under this configuration; `why` says why not.
  virtual bool runs(const graph::Node& node, const ops::Roles& roles, const Config& config, std::string& why) const = 0;
  // Whether Q/DQ must stand between a compute node and the Relu or Clip behind it (with the activation's scale), so that the
  // compute node runs in an integer kernel. false: the activation is absorbed by the quantization of its own output.
  virtual bool separates_activation(const Config& config) const = 0;
};

}  // namespace quasar::quant

namespace quasar::quant::targets {
const Table<Target>& table();
}
