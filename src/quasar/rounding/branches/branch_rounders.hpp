// The layers in branches of If: each way that samples take through the branches has a rounder of its own, as of a model without
// any.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/branches/branches.hpp"
#include "quasar/rounding/rounding_report.hpp"

namespace quasar::tune {

class BranchRounders {
 public:
  using Check = std::function<void()>;
  // Rounder::improve() of one model, and what makes such a rounder for the samples of one way.
  using Improve = std::function<RoundingReport(quant::Plan& plan, const Check& check)>;
  using MakeRounder = std::function<Improve(const graph::Model& model, data::DatasetPtr samples)>;

  // `open`: the model with open bodies, where it has any. The ways are found when they are first needed.
  BranchRounders(graph::Model open, data::DatasetPtr samples, size_t threads, MakeRounder make);

  const graph::Model& model() const { return model_; }

  // Rounds the layers of branches, with the scales of values that the other layers have now.
  void round(quant::Plan& plan, RoundingReport& report, const Check& check);

 private:
  const std::vector<Improve>& rounders();

  const graph::Model model_;
  const data::DatasetPtr samples_;
  const size_t threads_;
  const MakeRounder make_;
  std::mutex guard_;
  std::optional<std::vector<Route>> routes_ = {};  // nullopt: nobody needed them yet
  std::vector<Improve> rounders_ = {};             // one for each route
};

}  // namespace quasar::tune
