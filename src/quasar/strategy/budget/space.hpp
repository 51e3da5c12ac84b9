// What strategy `budget` varies: the precision of each operator, and what improves the model that it finds.
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/strategy/repair_space.hpp"

namespace quasar::tune {

// The precisions that the job's budget names, or those that suit it, from the smallest: those that no operator of the model can
// have on this target are left out. `quantized` is among them, as the space has it, and has every node. Throws Error where
// nothing can be quantized, and where nothing but `quantized` is left.
std::vector<Rung> precisions_of(const Budget& budget, const Json& search_space, const graph::Model& model,
                                const quant::Target& target);

// The space with the choices of each node: quantized first.
Json with_precisions(const Budget& budget, Json search_space, const graph::Model& model, const quant::Target& target);

}  // namespace quasar::tune
