#include "quasar/tune/quantize.hpp"

#include "quasar/graph/load.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/tune/calibration.hpp"

namespace quasar::tune {

Quantized quantize(const QuantizeOptions& options) {
  const quant::Config config = quant::parse_config(options.words);
  const auto target = quant::targets::table().make(options.target);
  const graph::Model model = runtime::prepare(graph::load(options.model));
  CalibrationNeeds needs;
  needs.add(config);
  Calibration calibration(model, data::open(options.calibration, model.inputs), needs, {});
  quant::Plan plan = quant::resolve(model, calibration.seen(config), config, *target);
  return {quant::apply(model, plan), plan};
}

}  // namespace quasar::tune
