#include "quasar/rounding/branches/branch_rounders.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "quasar/graph/bodies.hpp"
#include "quasar/rounding/input_scales.hpp"

namespace quasar::tune {

BranchRounders::BranchRounders(graph::Model open, data::DatasetPtr samples, size_t threads, MakeRounder make)
    : model_(std::move(open)), samples_(std::move(samples)), threads_(threads), make_(std::move(make)) {}

const std::vector<BranchRounders::Improve>& BranchRounders::rounders() {
  const std::lock_guard lock(guard_);
  if (routes_ || !graph::has_open_bodies(model_)) return rounders_;
  routes_ = routes_of(model_, *samples_, threads_);
  for (const Route& route : *routes_) rounders_.push_back(make_(route.model, data::subset(samples_, route.samples)));
  return rounders_;
}

void BranchRounders::round(quant::Plan& plan, RoundingReport& report, const Check& check) {
  const graph::Model inner = only_bodies(model_);
  follow_refined_inputs(inner, plan);
  std::set<std::string> left;
  for (const auto& node : inner.nodes) {
    const auto found = plan.nodes.find(node.name);
    if (found != plan.nodes.end() && found->second.weight) left.insert(node.name);
  }
  if (left.empty()) return;
  const auto& improve = rounders();
  std::set<std::string> rounded;
  for (size_t r = 0; r < improve.size(); r++) {
    const Route& route = routes_->at(r);
    const auto planned = [&](const std::string& node) { return plan.nodes.contains(node); };
    if (std::ranges::none_of(route.nodes, planned)) continue;
    for (const auto& node : route.nodes) left.erase(node);
    if (take_from_twins(plan, route.nodes, rounded, inner)) continue;
    rounded.insert(route.nodes.begin(), route.nodes.end());
    quant::Plan own = plan;
    Json& options = own.rounding.options;
    if (options.contains("refine_activations")) options["refine_activations"] = false;
    if (const Json wanted = options.value("data_size", Json()); wanted.is_number())
      options["data_size"] = std::min(wanted.get<size_t>(), route.samples.size());
    const RoundingReport part = improve[r](own, check);
    for (const auto& node : route.nodes) {
      if (planned(node)) plan.nodes[node] = std::move(own.nodes[node]);
    }
    const auto is_own = [&](const LayerError& layer) { return route.nodes.contains(layer.node); };
    std::ranges::copy_if(part.layers, std::back_inserter(report.layers), is_own);
    report.wanted = std::max(report.wanted, part.wanted);
    report.samples = std::max(report.samples, part.samples);
  }
  for (const auto& node : left)
    report.kept.push_back(node + ": it stands in a body of Loop or Scan, or no sample enters its branch");
}

}  // namespace quasar::tune
