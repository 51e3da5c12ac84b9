#include "quasar/tune/quantize.hpp"

#include "quasar/graph/load.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/rounding_config.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/tune/trial.hpp"
#include "quasar/tune/variants.hpp"

namespace quasar::tune {
namespace {

Quantized without_samples(const graph::Model& model, const quant::Config& config, const quant::Target& target) {
  if (!quant::needs_no_samples(config))
    throw Error("this configuration needs calibration samples: ranges are observed, or rounding is optimized");
  quant::Plan plan = quant::resolve(model, {}, config, target);
  require_quantized(plan);
  return {quant::written(model, plan), plan, config};
}

}  // namespace

Quantized quantize(const QuantizeOptions& options) {
  const quant::Config config = quant::parse_config(options.words);
  const auto target = quant::targets::table().make(options.target);
  const graph::Model original = graph::load(options.model);
  const graph::Model model = runtime::prepare(original);
  if (options.calibration.is_null()) {
    if (!options.ranges.is_null()) throw Error("ranges are given, but no calibration samples for the values that they leave out");
    return without_samples(config.optimize_model ? model : runtime::unoptimized(original), config, *target);
  }
  CalibrationNeeds needs;
  needs.add(config);
  if (!options.ranges.is_null()) needs.given = quant::parse_ranges(options.ranges, model, config.activation);
  const data::DatasetPtr samples = data::open(options.calibration, model.inputs);
  Variants variants(original, model, samples, needs);
  quant::Plan plan = variants.plan(config, *target);
  require_quantized(plan);
  graph::Model quantized = variants.build(config, plan).model;
  for (auto& note : quant::notes_on_inert_options(options.words)) plan.notes.push_back(std::move(note));
  for (const auto& [value, given] : needs.given) {
    if (given.range && !plan.ranges.contains(value))
      plan.notes.push_back("ranges: '" + value + "' is not used: it follows another tensor, or stays in float here");
  }
  return {std::move(quantized), std::move(plan), config};
}

}  // namespace quasar::tune
