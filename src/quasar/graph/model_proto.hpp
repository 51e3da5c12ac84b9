// A Model from and to onnx::ModelProto without its weights. For the sources of graph/ only.
#pragma once

#include <cstdint>
#include <filesystem>

#include "quasar/graph/external_files.hpp"
#include "quasar/graph/model.hpp"

namespace onnx {
class ModelProto;
}

namespace quasar::graph {

constexpr size_t protobuf_limit = INT32_MAX;  // bytes of one message

// Takes the message apart; external data are looked for in `folder`. Throws Error for what is not a valid model.
Model model_of(onnx::ModelProto& proto, const std::filesystem::path& folder);

// Everything but the initializers.
void set_model(onnx::ModelProto& proto, const Model& model);

// The value of a Constant node: attributes value, value_float, value_floats, value_int, value_ints, value_string, value_strings,
// sparse_value (https://onnx.ai/onnx/operators/onnx__Constant.html). `room`: as dense_of() takes it. Throws Error for a node with
// none of them.
Tensor constant_of(const Node& node, ExternalFiles& files, size_t& room);

}  // namespace quasar::graph
