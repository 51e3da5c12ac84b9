#include "quasar/tune/quantize.hpp"

#include "quasar/graph/load.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/tune/calibration.hpp"
#include "quasar/tune/rounding.hpp"
#include "quasar/tune/trial.hpp"

namespace quasar::tune {

Quantized quantize(const QuantizeOptions& options) {
  const quant::Config config = quant::parse_config(options.words);
  const auto target = quant::targets::table().make(options.target);
  const graph::Model model = runtime::prepare(graph::load(options.model));
  CalibrationNeeds needs;
  needs.add(config);
  const data::DatasetPtr samples = data::open(options.calibration, model.inputs);
  Calibration calibration(model, samples, needs, {});
  quant::Plan plan = quant::resolve(model, calibration.seen(config), config, *target);
  require_quantized(plan);
  Rounder rounder(model, samples);
  rounder.settle(plan, config.calib_data_size);
  rounder.improve(plan);
  for (auto& note : quant::notes_on_inert_options(options.words)) plan.notes.push_back(std::move(note));
  return {quant::apply(model, plan), plan};
}

}  // namespace quasar::tune
