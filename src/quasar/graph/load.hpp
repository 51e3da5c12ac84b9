// ONNX files in and out.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/api.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Reads a model with its external data (relative paths below the model's folder only). Constant nodes become initializers,
// initializers that are also inputs are dropped from the inputs, nodes get names where they have none. Throws Error that
// names the file: not there, not ONNX, truncated, IR below 3, external data missing or outside the folder.
QUASAR_API Model load(const std::filesystem::path& path);
QUASAR_API Model from_bytes(std::string_view bytes, const std::string& source, const std::filesystem::path& folder = {});

// The serialized model, weights included. Throws Error beyond protobuf's 2 GB: save() with external data then.
QUASAR_API std::string to_bytes(const Model& model);

enum class ExternalData { when_needed, always };  // when_needed: only beyond 2 GB

// Writes the model whole or not at all; external data goes to `<file name>.data` beside it, streamed.
QUASAR_API void save(const Model& model, const std::filesystem::path& path, ExternalData external = ExternalData::when_needed);

// Why Quasar cannot treat this model (unknown operator domain, quantized already with no weights left in float), with the node;
// "" when it can. `custom_operators`: whether ONNX Runtime was given libraries of operators, which may have those of any domain.
QUASAR_API std::string obstacle(const Model& model, bool custom_operators = false);

// Raises ONNX's own opset to at least `version` by ONNX's version converter, and from 17 to 19 by hand. Throws Error naming
// the operator that cannot be converted, and for sets above 19.
QUASAR_API Model raise_opset(Model model, int64_t version);

}  // namespace quasar::graph
