// A search of one's own with any of Quasar's samplers: ask for a point, try it, tell what came of it.
#include <cmath>
#include <cstdio>

#include "quasar/search/ask.hpp"

using namespace quasar::search;

int main() {
  const Space space = Space::parse(quasar::parse_json(R"({
      "kind": ["near", "far"],
      "near": {"x": {"type": "float", "low": -5, "high": 5}, "only_if": {"kind": "near"}}})",
                                                      "space"));
  const auto storage = open_storage("memory");  // or "study.db", which Optuna opens too
  Study study(*storage, {.name = "example"});
  const auto sampler = samplers::table().make("tpe", {{"n_startup_trials", 5}});
  for (int i = 0; i < 50; ++i) {
    const auto trial = ask(study, space, *sampler, /*seed=*/1);
    if (!trial) break;  // a finite space has been tried completely
    const auto* x = trial->point.find("near_x");
    tell(study, *trial, {x == nullptr ? 8.0 : std::pow(x->get<double>() - 2, 2)});
  }
  std::printf("%s gives %g\n", space.decode(study.best()->point).dump().c_str(), study.best()->values.front());
  return study.best()->values.front() < 0.1 ? 0 : 1;
}
