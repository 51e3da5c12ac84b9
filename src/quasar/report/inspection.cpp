#include "quasar/report/inspection.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "quasar/base/digits.hpp"
#include "quasar/base/version.hpp"
#include "quasar/report/wrap.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::report {
namespace {

std::string cell(const Json& value) {
  return value.is_number() ? in_digits(value.get<double>()) : "-";
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

namespace {

std::string name_in(const Json& layer, size_t width) {
  std::string name = layer["node"].get<std::string>();
  if (name.size() > width) name = "~" + name.substr(name.size() - width + 1);
  return name + std::string(width + 2 - name.size(), ' ');
}

std::string line(const std::string& name, const std::vector<std::string>& cells) {
  std::string out = "  " + name;
  for (const auto& text : cells) out += " " + padded(text, 8);
  return out + "\n";
}

std::string percent(const Json& share) {
  return share.is_number() ? cell(100 * share.get<double>()) : "-";
}

std::string interval(const Json& low, const Json& high) {
  return cell(low) + " … " + cell(high);
}

std::string wide(std::string text, size_t width) {
  const size_t columns = columns_of(text);
  return text + std::string(columns < width ? width - columns : 1, ' ');
}

std::string range_line(const std::string& name, const std::string& what, const Json& part) {
  if (!part.is_object()) return "";
  return "  " + name + wide(what, 9) + wide(interval(part["low"], part["high"]), 20) +
         wide(interval(part["range"][0], part["range"][1]), 20) + cell(100 * part["clipped"].get<double>()) + " %\n";
}

std::string ranges_table(const Json& ranges) {
  std::string out;
  for (const auto& layer : ranges) {
    out += range_line(name_in(layer, 18), "input", layer.value("activation", Json()));
    out += range_line(name_in(layer, 18), "weights", layer.value("weight", Json()));
  }
  if (out.empty()) return "";
  return "\nRanges of the worst layers:\n  " + std::string(29, ' ') + wide("seen", 20) + wide("codes reach", 20) + "clipped\n" +
         out;
}

std::string costs_table(const Json& costs) {
  if (costs.is_null()) return "";
  constexpr size_t most = 20;
  const auto cells = [](const Json& in_float, const Json& quantized) {
    return std::vector<std::string>{cell(in_float), cell(quantized), cell(quantized.get<double>() - in_float.get<double>())};
  };
  const Json& operators = costs["operators"];
  std::string out = "\nTime of a run on one thread, microseconds" +
                    (operators.size() > most ? ", of the " + std::to_string(most) + " operators that lose most" : std::string()) +
                    "\n" + line(std::string(24, ' '), {"float", "quantized", "more"}) +
                    line(wide("everything", 24), cells(costs["float_us"], costs["quantized_us"])) +
                    line(wide("values become codes", 24), cells(0, costs["entering_us"])) +
                    line(wide("codes become values", 24), cells(0, costs["leaving_us"]));
  for (size_t i = 0; i < std::min(most, operators.size()); i++)
    out += line(name_in(operators[i], 22), cells(operators[i]["float_us"], operators[i]["quantized_us"]));
  return out;
}

}  // namespace

std::string examination_table(const Json& examination) {
  const Json few = examination.value("layer_samples", Json());
  std::string out = "\nLayers, the most sensitive first (" + examination["samples"].dump() + " samples" +
                    (few.is_null() ? "" : ", alone and up to it on the first " + few.dump()) + ";\n" +
                    examination["scheme"].get<std::string>() +
                    ")\nalone, up to it: distance at the outputs with it, with all up to it quantized\n"
                    "noise: of its result in the model that really runs, % of the signal's power\n"
                    "tensor, channel: error of its result from weights with one scale, with several\n"
                    "outliers: channels with weights over 8 times the median channel's\n" +
                    line(std::string(24, ' '), {"alone", "up to it", "noise", "tensor", "channel", "outliers"});
  for (const auto& layer : examination["layers"]) {
    const Json weight = layer.value("rounding_error", layer.value("weight_error", Json::object()));
    const size_t outliers = layer.value("outlier_channels", size_t{0});
    out += line(name_in(layer, 22), {cell(layer.value("output_error", Json())), cell(layer.value("accumulated", Json())),
                                     percent(layer.value("accumulated_noise", Json())), cell(weight.value("tensor", Json())),
                                     cell(weight.value("channel", Json())), outliers > 0 ? std::to_string(outliers) : ""});
    out.erase(out.find_last_not_of(" \n") + 1) += "\n";
  }
  out += ranges_table(examination["ranges"]) + costs_table(examination.value("operator_costs", Json())) + "\n";
  for (const auto& advice : examination["advice"]) out += wrapped(advice.get<std::string>(), 80, "- ", "  ") + "\n";
  return out;
}

}  // namespace quasar::report
