// A Model from and to onnx::ModelProto without its weights. For the sources of graph/ only.
#pragma once

#include <cstdint>
#include <filesystem>

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

}  // namespace quasar::graph
