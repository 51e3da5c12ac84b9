#include "quasar/graph/pipeline/layout.hpp"

#include <filesystem>

#include "quasar/base/error.hpp"

namespace quasar::graph {
namespace {

const std::string pipeline_key = "quasar.pipeline";

Json json_of_port(const Port& port) {
  Json out{{"name", port.own.name}, {"value", port.value}, {"type", static_cast<int>(port.own.type)}};
  if (port.own.shape) out["shape"] = *port.own.shape;
  if (port.own.shape) out["symbols"] = port.own.symbols;
  return out;
}

Port port_of(const Json& words) {
  Port out{.own = {.name = words.at("name"), .type = static_cast<DataType>(words.at("type").get<int>())},
           .value = words.at("value")};
  if (words.contains("shape")) out.own.shape = words.at("shape").get<Shape>();
  if (words.contains("shape")) out.own.symbols = words.at("symbols").get<std::vector<std::string>>();
  return out;
}

Json json_of_ports(const std::vector<Port>& ports) {
  Json out = Json::array();
  for (const auto& port : ports) out.push_back(json_of_port(port));
  return out;
}

// Files of the parts are written under these names: another folder's would be written where nobody expects it.
void check_is_a_name(const std::string& name) {
  const std::filesystem::path path(name);
  if (name.empty() || name == "." || name == ".." || path != path.filename())
    throw Error("the model's metadata '" + pipeline_key + "' names a model or file '" + name + "', but must name no folder");
}

}  // namespace

void write_layout(Model& model, const Pipeline& pipeline) {
  Json words = Json::array();
  for (const auto& part : pipeline.parts) {
    words.push_back({{"name", part.name},
                     {"file", part.file},
                     {"inputs", json_of_ports(part.inputs)},
                     {"outputs", json_of_ports(part.outputs)},
                     {"metadata", part.metadata}});
  }
  model.metadata[pipeline_key] = words.dump();
}

void forget_layout(Model& model) {
  model.metadata.erase(pipeline_key);
}

std::optional<Pipeline> pipeline_of(const Model& model) {
  const auto found = model.metadata.find(pipeline_key);
  if (found == model.metadata.end()) return std::nullopt;
  try {
    Pipeline out;
    for (const Json& words : parse_json(found->second, pipeline_key)) {
      Part part{.name = words.at("name"), .file = words.at("file"), .inputs = {}, .outputs = {}};
      check_is_a_name(part.file);
      check_is_a_name(part.name);
      for (const Json& port : words.at("inputs")) part.inputs.push_back(port_of(port));
      for (const Json& port : words.at("outputs")) part.outputs.push_back(port_of(port));
      part.metadata = words.at("metadata").get<std::map<std::string, std::string>>();
      out.parts.push_back(std::move(part));
    }
    return out;
  } catch (const Json::exception& e) {
    throw Error("the model's metadata '" + pipeline_key + "' cannot be read: " + e.what());
  }
}

}  // namespace quasar::graph
