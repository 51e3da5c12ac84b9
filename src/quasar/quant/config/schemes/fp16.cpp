#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> fp16() {
  return {"float16 by casts: weights take half the space, values are rounded to 11 significant bits.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{{"activation", "Float16Spec"}, {"weight", "Float16Spec"}});
          }};
}

}  // namespace quasar::quant::schemes
