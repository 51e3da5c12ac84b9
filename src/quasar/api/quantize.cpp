#include "quasar/api/quantize.hpp"

#include "quasar/inspect/quantize.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/given_ranges.hpp"

namespace quasar::api {

Quantized quantize(const QuantizeOptions& options) {
  tune::Quantized made = tune::quantize(
      {.model = options.model,
       .calibration = options.calibration,
       .words = options.configuration.is_string() ? Json{{"scheme", options.configuration}} : options.configuration,
       .target = options.target,
       .ranges = options.ranges});
  Json nodes = Json::array(), skipped = Json::object();
  for (const auto& [name, planned] : made.plan.nodes) nodes.push_back(name);
  for (const auto& [name, why] : made.plan.skipped) skipped[name] = why;
  return {.model = std::move(made.model),
          .facts = {{"nodes", nodes},
                    {"skipped", skipped},
                    {"notes", made.plan.notes},
                    {"config", quant::to_json(made.config)},
                    {"ranges", quant::ranges_json(made.plan, made.config)}}};
}

}  // namespace quasar::api
