// Which values ONNX Runtime's CPU can hold in 4 bits between Q and DQ, tried with 1.30 and 1.31. It refuses a model with Clip
// before such a pair, with MaxPool beside one (no kernel for the codes), and with Conv of 8-bit weights between two (it makes
// QLinearConv of them, which has no 4 bits); it drops a Relu before one, whatever the zero point. It moves pairs past operators
// that only move values, so that these count as not there.
#pragma once

#include <map>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::quant {

// Value -> why a node that reads or writes it cannot have 4 bits. `quantizable`: the roles of the nodes that can be quantized at
// all, by name.
std::map<std::string, std::string> unfit_for_4_bits(const graph::Model& model,
                                                    const std::map<std::string, ops::Roles>& quantizable);

// Why a node of these roles, with weights of this type, cannot have such values; "" when it can. `unfit`: as above.
std::string obstacle_to_4_bits(const graph::Node& node, const ops::Roles& roles, DataType weights,
                               const std::map<std::string, std::string>& unfit);

}  // namespace quasar::quant
