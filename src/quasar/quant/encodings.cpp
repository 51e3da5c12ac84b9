#include "quasar/quant/encodings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

// TensorRT 8.6, the last series before calibration was deprecated.
constexpr const char* cache_head = "TRT-8601-EntropyCalibration2";

bool is_signed(DataType type) {
  return grid_of(type, false).low < 0;
}

// Offsets count from the lowest code.
int64_t offset_of(const QuantParams& params, size_t k) {
  return grid_of(params.type, false).low - params.zero_points[std::min(k, params.zero_points.size() - 1)];
}

Json encoding(const std::string& name, const QuantParams& params) {
  Json offsets = Json::array();
  for (size_t k = 0; k < params.scales.size(); ++k) offsets.push_back(offset_of(params, k));
  const bool centred = std::ranges::all_of(params.zero_points, [](int32_t zero) { return zero == 0; });
  return {{"name", name},
          {"dtype", "INT"},
          {"bw", bits_of(params.type)},
          {"is_sym", is_signed(params.type) && centred},
          {"enc_type", params.scales.size() > 1 ? "PER_CHANNEL" : "PER_TENSOR"},
          {"scale", params.scales},
          {"offset", offsets}};
}

void add_constant(Json& list, const graph::Node& node, const ConstantPlan& constant) {
  const QuantParams& params = constant.optimized ? constant.optimized->params : constant.params;
  const std::string& name = node.inputs.at(constant.input);
  if (!is_integer(params.type)) return;
  if (params.block > 0)
    throw Error("'" + name +
                "' has scales per group, which encodings are not written with; take scales per channel or per tensor");
  const auto same = [&](const Json& one) { return one["name"] == name; };
  if (std::none_of(list.begin(), list.end(), same)) list.push_back(encoding(name, params));
}

std::string bits_in_hex(float scale) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", std::bit_cast<uint32_t>(scale));
  return text.data();
}

// Of int8 codes without zero point that reach as far.
float centred_scale(const QuantParams& params) {
  if (params.type == DataType::int8 && params.zero_points.front() == 0) return params.scales.front();
  const Grid grid = grid_of(params.type, false);
  const auto end = [&](int64_t code) {
    return std::abs(double{params.scales.front()} * static_cast<double>(code - params.zero_points.front()));
  };
  return static_cast<float>(std::max(end(grid.low), end(grid.high)) / 127);
}

// What the entry of one value says, whatever the version.
class Entry {
 public:
  Entry(std::string where, const Json& entry) : where_(std::move(where)), entry_(entry) {
    if (!entry_.is_object()) throw Error(where_ + " is " + entry_.dump() + ", but must be a mapping");
  }

  std::string word(const char* key) const {
    const Json value = entry_.value(key, Json());
    if (!value.is_string()) throw Error(where_ + ": " + key + " is " + value.dump() + ", but must be a word");
    return value.get<std::string>();
  }

  // The one number of a list of one, or the number.
  double number(const char* key) const {
    Json value = entry_.value(key, Json());
    if (value.is_array() && value.size() != 1)
      throw Error(where_ + ": " + key + " has " + std::to_string(value.size()) + " numbers, but a value has one scale here");
    if (value.is_array()) value = value.front();
    if (!value.is_number()) throw Error(where_ + ": " + key + " is " + value.dump() + ", but must be a number");
    return value.get<double>();
  }

  bool has(const char* key) const { return entry_.contains(key); }

  bool truth(const char* key) const {
    const Json value = entry_.value(key, Json());
    if (value == true || value == "True" || value == "true") return true;
    if (value == false || value == "False" || value == "false") return false;
    throw Error(where_ + ": " + key + " is " + value.dump() + ", but must be true or false");
  }

 private:
  std::string where_;
  const Json& entry_;
};

// `offset` counts from the lowest code.
Json quasar_entry(int64_t bits, bool centred, double scale, double offset) {
  const std::string type = (centred ? "int" : "uint") + std::to_string(bits);
  const double lowest = centred ? -std::ldexp(1, static_cast<int>(bits) - 1) : 0;
  return {{"scale", scale}, {"zero_point", lowest - offset}, {"type", type}};
}

Json read_entry(const Entry& entry, const char* bits_key, const char* symmetry_key) {
  if (normalized(entry.word("dtype")) == "float") return {{"float", true}};
  const auto bits = static_cast<int64_t>(entry.number(bits_key));
  return quasar_entry(bits, entry.truth(symmetry_key), entry.number("scale"), entry.number("offset"));
}

// Version 2.0.0.
Json read_onnx_entry(const Entry& entry) {
  const std::string type = entry.word("output_dtype");
  if (type.find("int") == std::string::npos) return {{"float", true}};
  return {{"scale", entry.number("y_scale")},
          {"zero_point", entry.has("y_zero_point") ? entry.number("y_zero_point") : 0.0},
          {"type", type}};
}

// Version 0.6.1: a list of one for each name.
void read_named(const Json& values, Json& tensors) {
  for (const auto& [name, list] : values.items()) {
    const std::string where = "encodings: '" + name + "'";
    if (!list.is_array() || list.size() != 1) throw Error(where + " is " + list.dump() + ", but must be a list of one mapping");
    tensors[name] = read_entry(Entry(where, list.front()), "bitwidth", "is_symmetric");
  }
}

// `values`: those of activations, or of everything where the version does not tell them apart.
void read_listed(const Json& values, Json& tensors) {
  for (const auto& one : values) {
    const std::string name = Entry("encodings: an entry", one).word("name");
    const Entry entry("encodings: '" + name + "'", one);
    if (!entry.has("y_scale") && !entry.has("output_dtype")) {
      tensors[name] = read_entry(entry, "bw", "is_sym");
    } else if (!entry.has("axis")) {  // others are weights
      tensors[name] = read_onnx_entry(entry);
    }
  }
}

ForeignRanges read_encodings(const Json& file) {
  ForeignRanges out{.file = {{"tensors", Json::object()}}, .foreign = true};
  const bool newest = file.contains("encodings");
  const Json& values = newest ? file.at("encodings") : file.at("activation_encodings");
  if (values.is_object() && !newest) {
    read_named(values, out.file["tensors"]);
  } else if (values.is_array()) {
    read_listed(values, out.file["tensors"]);
  } else {
    throw Error(std::string(newest ? "encodings" : "activation_encodings") + " is " + values.dump() + ", but must be a list" +
                (newest ? "" : ", or a mapping of names"));
  }
  if (!file.value("param_encodings", Json()).empty())
    out.notes.emplace_back("ranges: param_encodings are not read: weights get scales of their own");
  return out;
}

ForeignRanges read_cache(const std::string& text) {
  ForeignRanges out{.file = {{"tensors", Json::object()}}, .foreign = true};
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  for (size_t number = 2; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string where = "calibration cache, line " + std::to_string(number);
    const size_t colon = line.rfind(": ");
    const std::string bits = colon == std::string::npos ? "" : line.substr(colon + 2);
    uint32_t code = 0;
    const auto [end, failure] = std::from_chars(bits.data(), bits.data() + bits.size(), code, 16);
    const auto scale = std::bit_cast<float>(code);
    if (bits.size() != 8 || failure != std::errc() || end != bits.data() + bits.size() || !std::isfinite(scale) || scale < 0)
      throw Error(where + " is '" + line + "', but must be a name, a colon and the 8 hexadecimal digits of a positive float32");
    out.file["tensors"][line.substr(0, colon)] = {{"min", -127 * double{scale}}, {"max", 127 * double{scale}}};
  }
  return out;
}

}  // namespace

Json encodings_json(const Plan& plan, const graph::Model& graph) {
  Json values = Json::array(), constants = Json::array();
  for (const auto& [name, params] : plan.values) {
    if (is_integer(params.type)) values.push_back(encoding(name, plan.params(name)));
  }
  for (const auto& node : graph.nodes) {
    const auto planned = plan.nodes.find(node.name);
    if (planned == plan.nodes.end()) continue;
    if (planned->second.weight) add_constant(constants, node, *planned->second.weight);
    for (const auto& constant : planned->second.constants) add_constant(constants, node, constant);
  }
  return {{"version", "1.0.0"},
          {"producer", {{"package", "quasar"}, {"version", QUASAR_VERSION}}},
          {"activation_encodings", std::move(values)},
          {"param_encodings", std::move(constants)}};
}

std::string calibration_cache(const Plan& plan) {
  std::string out = std::string(cache_head) + "\n";
  for (const auto& [name, params] : plan.values) {
    if (is_integer(params.type)) out += name + ": " + bits_in_hex(centred_scale(plan.params(name))) + "\n";
  }
  return out;
}

bool is_calibration_cache(std::string_view text) {
  return text.starts_with("TRT-");
}

ForeignRanges read_foreign(const Json& file) {
  if (file.is_string() && is_calibration_cache(file.get<std::string>())) return read_cache(file.get<std::string>());
  if (file.is_object() && (file.contains("activation_encodings") || file.contains("encodings"))) return read_encodings(file);
  return {.file = file};
}

void keep_known(ForeignRanges& ranges, const std::vector<std::string>& known) {
  if (!ranges.foreign) return;
  Json kept = Json::object();
  std::vector<std::string> others;
  for (const auto& [name, entry] : ranges.file["tensors"].items()) {
    if (std::ranges::find(known, name) != known.end()) {
      kept[name] = entry;
    } else {
      others.push_back(name);
    }
  }
  const std::string of_all = std::to_string(others.size()) + " of " + std::to_string(ranges.file["tensors"].size()) +
                             " names are no values of this model that could be quantized";
  if (kept.empty())
    throw Error("ranges: " + of_all +
                (others.empty() ? "" : ", such as '" + others.front() + "'" + did_you_mean(others.front(), known)));
  if (!others.empty()) ranges.notes.push_back("ranges: " + of_all + ", such as '" + others.front() + "'");
  ranges.file["tensors"] = std::move(kept);
}

}  // namespace quasar::quant
