#include "quasar/tune/quantize.hpp"

#include "quasar/graph/load.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/tune/trial.hpp"
#include "quasar/tune/variants.hpp"

namespace quasar::tune {

Quantized quantize(const QuantizeOptions& options) {
  const quant::Config config = quant::parse_config(options.words);
  const auto target = quant::targets::table().make(options.target);
  const graph::Model original = graph::load(options.model);
  const graph::Model model = runtime::prepare(original);
  CalibrationNeeds needs;
  needs.add(config);
  const data::DatasetPtr samples = data::open(options.calibration, model.inputs);
  Variants variants(original, model, samples, needs);
  quant::Plan plan = variants.plan(config, *target);
  require_quantized(plan);
  graph::Model quantized = variants.build(config, plan).model;
  for (auto& note : quant::notes_on_inert_options(options.words)) plan.notes.push_back(std::move(note));
  return {std::move(quantized), std::move(plan)};
}

}  // namespace quasar::tune
