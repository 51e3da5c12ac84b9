#include "quasar/quant/config/tensor_overrides.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

const std::string owner = "TensorQuantOverrides";

double number_of(const std::string& name, const Json& words, const char* key) {
  const bool number = words.at(key).is_number() && std::isfinite(words.at(key).get<double>());
  if (!number || !std::isfinite(static_cast<float>(words.at(key).get<double>())))
    throw Error(owner + "." + name + "." + key + " is " + words.at(key).dump() + ", but must be a number" +
                (number ? " that float32 holds" : ""));
  return words.at(key).get<double>();
}

void check_keys(const std::string& name, const Json& words) {
  const std::vector<std::string> known{"quant_type", "symmetric", "rmin", "rmax", "scale", "zero_point"};
  for (const auto& [key, value] : words.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error("unknown key '" + owner + "." + name + "." + key + "'; known: " + joined(known) + did_you_mean(key, known));
  }
  if (words.contains("rmin") != words.contains("rmax")) throw Error(owner + "." + name + ": rmin and rmax belong together");
  if (words.contains("scale") != words.contains("zero_point"))
    throw Error(owner + "." + name + ": scale and zero_point belong together");
  if (words.contains("rmin") && words.contains("scale"))
    throw Error(owner + "." + name + ": rmin and rmax contradict scale and zero_point: give one pair");
}

TensorOverride parse_one(const std::string& name, const Json& words) {
  if (!words.is_object()) throw Error(owner + "." + name + " is " + words.dump() + ", but must be a mapping");
  check_keys(name, words);
  TensorOverride out{.words = words};
  if (words.contains("quant_type")) {
    const Scheme scheme = [&] {
      try {
        return parse_scheme({{"activation", words.at("quant_type")}}, "activation");
      } catch (const Error& e) {
        throw Error(owner + "." + name + ".quant_type: " + e.what());
      }
    }();
    if (scheme.dynamic || !is_integer(scheme.type))
      throw Error(owner + "." + name + ".quant_type is " + words.at("quant_type").dump() +
                  ", but must be an integer type; exclude or specific_layer_config leave layers in float");
    out.type = scheme.type;
  }
  if (words.contains("symmetric")) {
    if (!words.at("symmetric").is_boolean()) throw Error(owner + "." + name + ".symmetric must be true or false");
    out.symmetric = words.at("symmetric").get<bool>();
  }
  if (words.contains("rmin")) {
    out.range = stats::Range{number_of(name, words, "rmin"), number_of(name, words, "rmax")};
    if (out.range->low > out.range->high) throw Error(owner + "." + name + ": rmin is above rmax");
  }
  if (words.contains("scale")) {
    out.scale = static_cast<float>(number_of(name, words, "scale"));
    if (!std::isnormal(*out.scale) || *out.scale < 0) throw Error(owner + "." + name + ": scale must be above zero");
    const double zero_point = number_of(name, words, "zero_point");
    if (std::nearbyint(zero_point) != zero_point || std::abs(zero_point) > 65535)
      throw Error(owner + "." + name + ": zero_point must be a whole number that the type holds");
    out.zero_point = static_cast<int32_t>(zero_point);
  }
  return out;
}

}  // namespace

TensorOverrides parse_tensor_overrides(const Json& value) {
  TensorOverrides out;
  if (value.is_null()) return out;
  if (!value.is_object()) throw Error(owner + " must be a mapping from names to overrides, not " + value.dump());
  for (const auto& [name, given] : value.items()) {
    if (given.is_array() && given.size() != 1)
      throw Error(owner + "." + name + ": one override for the whole tensor is supported, not " + std::to_string(given.size()));
    out[name] = parse_one(name, given.is_array() ? given.front() : given);
  }
  return out;
}

Scheme overridden(Scheme scheme, const TensorOverride& own) {
  if (own.type) scheme.type = *own.type;
  if (own.symmetric) scheme.symmetric = *own.symmetric;
  return scheme;
}

bool is_complete(const TensorOverride& own) {
  return own.range || own.scale;
}

QuantParams params_of(const TensorOverride& own, const Scheme& scheme) {
  if (!own.scale) {
    const auto [scale, zero_point] = scale_for(*own.range, scheme.type, scheme.symmetric, scheme.scale_type);
    return {.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
  }
  const Grid grid = grid_of(scheme.type, false);
  if (*own.zero_point < grid.low || *own.zero_point > grid.high)
    throw Error(owner + ": zero_point " + std::to_string(*own.zero_point) + " is no " + std::string(name_of(scheme.type)));
  const auto [unused, middle] = scale_for({-1, 1}, scheme.type, true, scheme.scale_type);
  if (own.symmetric == true && *own.zero_point != middle)
    throw Error(owner + ": symmetric is true, but zero_point is " + std::to_string(*own.zero_point) + ": symmetric " +
                std::string(name_of(scheme.type)) + " has zero point " + std::to_string(middle) + "; leave one of them out");
  return {.type = scheme.type, .scales = {*own.scale}, .zero_points = {*own.zero_point}};
}

}  // namespace quasar::quant
