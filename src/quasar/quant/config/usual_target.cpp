#include "quasar/quant/config/usual_target.hpp"

#include <algorithm>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/named_schemes.hpp"

namespace quasar::quant {
namespace {

// Whether a type has power-of-two scales only. Words that are wrong are told where they are read.
bool is_of_shifts(const Json& type) {
  try {
    return is_xint8(type);
  } catch (const Error&) {
    return false;
  }
}

// The choices of a key, however it is spelled; none where it is not there.
std::vector<Json> choices_of(const Json& words, const std::string& key) {
  for (const auto& [name, value] : words.items()) {
    if (normalized(name) != normalized(key)) continue;
    return value.is_array() ? std::vector<Json>(value.begin(), value.end()) : std::vector<Json>{value};
  }
  return {};
}

bool has_shifts_by_its_types(const Json& words) {
  for (const char* side : {"activation", "weight"}) {
    std::vector<Json> types = choices_of(words, side);
    if (types.empty()) {
      for (const Json& scheme : choices_of(words, "scheme")) {
        const bool known = scheme.is_string() && is_scheme(scheme.get<std::string>());
        types.push_back(known ? words_of_scheme(scheme.get<std::string>()).value(side, Json()) : Json());
      }
    }
    if (types.empty() || !std::ranges::all_of(types, is_of_shifts)) return false;
  }
  return true;
}

}  // namespace

UsualTarget usual_target(const Json& words) {
  if (!words.is_object()) return {};
  if (has_shifts_by_its_types(words))
    return {.name = "xint8",
            .told =
                "target is xint8: all activations and weights have power-of-two scales, which are for NPUs; target ort_cpu makes "
                "a model without their rules"};
  const std::vector<Json> switched = choices_of(words, "EnableNPUCnn");
  if (!switched.empty() && std::ranges::all_of(switched, [](const Json& on) { return on == true; }))
    return {.name = "xint8", .told = "target is xint8: EnableNPUCnn (enable_npu_cnn) is true, which is for NPUs"};
  return {};
}

}  // namespace quasar::quant
