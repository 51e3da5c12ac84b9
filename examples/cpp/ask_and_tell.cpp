#include <cmath>
#include <iostream>

#include "quasar/search/ask.hpp"

using namespace quasar::search;

int main() {
  const Space space =
      Space::parse({{"kind", {"near", "far"}},
                    {"near", {{"x", {{"type", "float"}, {"low", -5}, {"high", 5}}}, {"only_if", {{"kind", "near"}}}}}});
  const auto storage = open_storage("study.db");  // or "memory"; Optuna opens the file as well
  Study study(*storage, {.name = "example"});
  const auto sampler = samplers::table().make("tpe", {{"n_startup_trials", 5}});
  for (int i = 0; i < 50; ++i) {
    const auto trial = ask(study, space, *sampler, /*seed=*/1);
    if (!trial) break;  // a finite space has been tried completely
    const auto* x = trial->point.find("near_x");
    tell(study, *trial, {x == nullptr ? 8.0 : std::pow(x->get<double>() - 2, 2)});
  }
  const Trial& best = *study.best();
  std::cout << study.trials().size() << " trials, best " << (best.values.front() < 0.1 ? "below" : "above") << " 0.1\n";
}
