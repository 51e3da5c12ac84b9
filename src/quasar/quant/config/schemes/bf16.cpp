#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> bf16() {
  return {"bfloat16 by casts: weights take half the space, values are rounded to 8 significant bits.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{{"activation", "BFloat16Spec"}, {"weight", "BFloat16Spec"}});
          }};
}

}  // namespace quasar::quant::schemes
