// Configurations under which a model stays as it is, and the words for why.
#pragma once

#include "quasar/graph/model.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// Whether 16-bit floats are what is quantized to, and not only what operators fall back to.
enum class Halves { meant, fallback };

// What a plan was made of.
struct PlanOrigin {
  const graph::Model& model;
  const quant::Config& config;
  Halves halves = Halves::meant;
};

// Why no configuration of this form quantizes anything in the model but trifles; "": it may.
std::string why_nothing(const graph::Model& model, quant::NodeForm form);

// Throws Error when the plan leaves every node in float: such a model has no distance and would win every search. So would one
// whose operators have all fallen back to 16-bit floats.
void require_quantized(const quant::Plan& plan, const PlanOrigin& origin);

}  // namespace quasar::tune
