#include "quasar/report/inspection.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "quasar/base/version.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::report {
namespace {

std::string cell(const Json& value) {
  if (!value.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value.get<double>());
  return text;
}

std::string padded(const std::string& text, size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

// The page's layers stand in graph order.
Json in_graph_order(Json layers) {
  std::stable_sort(layers.begin(), layers.end(), [](const Json& a, const Json& b) { return a["place"] < b["place"]; });
  for (auto& layer : layers) {
    if (layer.contains("weight_error")) {
      layer["weight_per_tensor"] = layer["weight_error"]["tensor"];
      layer["weight_error"] = layer["weight_error"]["channel"];
    }
  }
  return layers;
}

}  // namespace

Json inspection_of(const Json& facts) {
  Json result{{"quasar", version()}, {"onnxruntime", runtime::version()}};
  if (facts.contains("examination")) {
    result["best"] = {{"layers", in_graph_order(facts["examination"]["layers"])}, {"ranges", facts["examination"]["ranges"]}};
  }
  return {{"title", std::filesystem::path(facts["model"].get<std::string>()).filename().string()},
          {"running", false},
          {"result", result},
          {"objectives", Json::array()},
          {"metrics", Json::object()},
          {"parameters", Json::array()},
          {"importance", Json::array()},
          {"trials", Json::array()},
          {"advice", facts.contains("examination") ? facts["examination"]["advice"] : Json::array()},
          {"facts", facts}};
}

std::string examination_table(const Json& examination) {
  std::string out = "\nLayers, the most sensitive first (" + examination["samples"].dump() + " samples; " +
                    examination["scheme"].get<std::string>() + "):\n  " + std::string(30, ' ') +
                    "     alone   up to it     weights: tensor  channel\n";
  for (const auto& layer : examination["layers"]) {
    std::string name = layer["node"].get<std::string>();
    if (name.size() > 28) name = "~" + name.substr(name.size() - 27);
    const Json weight = layer.value("rounding_error", layer.value("weight_error", Json::object()));
    out += "  " + name + std::string(30 - name.size(), ' ') + padded(cell(layer["output_error"]), 10) +
           padded(cell(layer["accumulated"]), 11) + padded(cell(weight.value("tensor", Json())), 16) +
           padded(cell(weight.value("channel", Json())), 9) + "\n";
  }
  out += "\n";
  for (const auto& advice : examination["advice"]) out += "- " + advice.get<std::string>() + "\n";
  return out;
}

}  // namespace quasar::report
