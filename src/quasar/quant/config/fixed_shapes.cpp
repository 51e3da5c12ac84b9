#include "quasar/quant/config/fixed_shapes.hpp"

#include <algorithm>
#include <sstream>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {
namespace {

[[noreturn]] void fail(const Json& words) {
  throw Error("FixShapes is " + words.dump() +
              ", but must give shapes of inputs, such as {image: [1, 3, 224, 224]} or \"image:[1,3,224,224]\"");
}

Shape shape_of(const Json& sizes, const Json& words) {
  const auto is_size = [](const Json& size) { return size.is_number_integer() && size.get<int64_t>() > 0; };
  if (!sizes.is_array() || !std::ranges::all_of(sizes, is_size)) fail(words);
  return sizes.get<Shape>();
}

// The last colon ends the name: names of some frameworks have colons themselves.
FixedShapes parse_text(const std::string& text) {
  FixedShapes out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const size_t colon = part.rfind(':');
    const auto sizes = colon == std::string::npos ? std::nullopt : json_in(part.substr(colon + 1));
    if (!sizes || colon == 0) fail(text);
    out[part.substr(0, colon)] = shape_of(*sizes, text);
  }
  return out;
}

std::string in_words(const graph::Value& value) {
  Json sizes = Json::array();
  for (size_t k = 0; k < value.shape->size(); ++k) {
    const int64_t size = (*value.shape)[k];
    const bool named = k < value.symbols.size() && !value.symbols[k].empty();
    sizes.push_back(size >= 0 ? Json(size) : Json(named ? value.symbols[k] : "?"));
  }
  return sizes.dump();
}

// The sizes that symbols have come to.
using Sizes = std::map<std::string, int64_t>;

void fix(graph::Value& input, const Shape& wanted, Sizes& sizes) {
  const auto fits = [](int64_t has, int64_t wants) { return has < 0 || has == wants; };
  if (input.shape && !std::ranges::equal(*input.shape, wanted, fits))
    throw Error("FixShapes gives input '" + input.name + "' the shape " + Json(wanted).dump() + ", but the model has " +
                in_words(input));
  for (size_t k = 0; k < input.symbols.size() && k < wanted.size(); ++k) {
    if (!input.symbols[k].empty()) sizes[input.symbols[k]] = wanted[k];
  }
  input.shape = wanted;
  input.symbols.clear();
  input.rest.reset();
}

void replace_symbols(graph::Value& value, const Sizes& sizes) {
  bool changed = false;
  for (size_t k = 0; value.shape && k < value.symbols.size() && k < value.shape->size(); ++k) {
    const auto found = sizes.find(value.symbols[k]);
    if (found == sizes.end()) continue;
    (*value.shape)[k] = found->second;
    value.symbols[k].clear();
    changed = true;
  }
  if (changed) value.rest.reset();
}

}  // namespace

FixedShapes parse_fixed_shapes(const Json& words) {
  if (words.is_string()) return parse_text(words.get<std::string>());
  if (!words.is_object()) fail(words);
  FixedShapes out;
  for (const auto& [input, sizes] : words.items()) out[input] = shape_of(sizes, words);
  return out;
}

Json to_json(const FixedShapes& shapes) {
  Json out = Json::object();
  for (const auto& [input, shape] : shapes) out[input] = shape;
  return out;
}

void fix_shapes(graph::Model& model, const FixedShapes& shapes) {
  Sizes sizes;
  std::vector<std::string> names;
  for (const auto& input : model.inputs) names.push_back(input.name);
  for (const auto& [name, shape] : shapes) {
    const auto input = std::ranges::find(model.inputs, name, &graph::Value::name);
    if (input == model.inputs.end())
      throw Error("FixShapes: the model has no input '" + name + "'; it has " + joined(names) + did_you_mean(name, names));
    fix(*input, shape, sizes);
  }
  for (auto& input : model.inputs) replace_symbols(input, sizes);
  for (auto& output : model.outputs) replace_symbols(output, sizes);
}

}  // namespace quasar::quant
