// Made-up trials for reports.
#pragma once

#include "quasar/search/trial.hpp"

namespace quasar::report {

inline search::Trial complete_trial(int64_t number, search::Point point, std::vector<search::Distribution> distributions,
                                    double value) {
  search::Trial trial;
  trial.number = number;
  trial.state = search::State::complete;
  trial.point = std::move(point);
  for (auto& distribution : distributions)
    trial.distributions.push_back(std::make_shared<const search::Distribution>(std::move(distribution)));
  trial.values = {value};
  return trial;
}

// y = 3·a + b on the whole grid a ∈ {0, 1, 2}, b ∈ {x, y}, c ∈ {p, q}; c does nothing.
inline std::vector<search::Trial> grid_trials() {
  std::vector<search::Trial> trials;
  const search::Categorical bs{{"x", "y"}}, cs{{"p", "q"}};
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 2; ++b) {
      for (int c = 0; c < 2; ++c) {
        trials.push_back(
            complete_trial(static_cast<int64_t>(trials.size()),
                           {{"a", a}, {"b", bs.choices[static_cast<size_t>(b)]}, {"c", cs.choices[static_cast<size_t>(c)]}},
                           {search::Categorical{{0, 1, 2}}, bs, cs}, 3.0 * a + b));
      }
    }
  }
  return trials;
}

// A result.json in small.
inline Json small_result() {
  return {
      {"status", "ok"},
      {"reason", "every point of the search space was tried"},
      {"seconds", 1.5},
      {"objectives", {{{"name", "L2"}, {"direction", "minimize"}}}},
      {"baseline", {{"model", "net.onnx"}, {"metrics", {{"L2", {{"value", 0.0}}}, {"top1", {{"value", 0.9}}}}}, {"bytes", 4000}}},
      {"best",
       {{"trial", 0},
        {"params", {{"a", 0}, {"b", "x"}}},
        {"metrics",
         {{"L2", {{"value", 0.1}, {"low", 0.05}, {"high", 0.2}, {"samples", 100}}},
          {"top1", {{"value", 0.89}, {"low", 0.8}, {"high", 0.95}, {"samples", 100}}}}},
        {"bytes", 1000}}},
      {"trials", {{"executed", 12}, {"duplicate", 0}, {"pruned", 0}, {"failed", 0}}}};
}

}  // namespace quasar::report
