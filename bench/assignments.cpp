// Every assignment of precisions to the groups of operators that strategy `budget` chooses from, scored as its trials are: what
// bench/budget.py compares the strategy's models with.
//
// usage: bench_assignments JOB.yaml [KEY=VALUE...]
// Prints one line of JSON for each: {assignment: [precision of each group], loss: of the objective, bytes}. Assignments that make
// no model are left out. The job needs the key budget, whose bounds do not count here.
#include <cstdio>
#include <mutex>

#include "quasar/base/parallel.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/strategy/budget/choices.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/tune/search_parts.hpp"

using namespace quasar;
using namespace quasar::tune;

namespace {

std::vector<Assignment> all_of(const BudgetChoices& choices) {
  std::vector<Assignment> out{{}};
  for (size_t g = 0; g < choices.groups().nodes.size(); g++) {
    std::vector<Assignment> longer;
    for (const Assignment& start : out) {
      for (size_t p = 0; p < choices.own(g).size(); p++) {
        longer.push_back(start);
        longer.back().push_back(p);
      }
    }
    out = std::move(longer);
  }
  return out;
}

Json names_of(const BudgetChoices& choices, const Assignment& assignment) {
  Json out = Json::array();
  for (size_t g = 0; g < assignment.size(); g++) out.push_back(choices.name_of(g, assignment[g]));
  return out;
}

void run(const std::filesystem::path& file, std::span<char*> changes) {
  Json words = canonical_keys(read_words(file));
  for (const std::string change : changes) {
    const size_t equals = change.find('=');
    set_key(words, change.substr(0, equals), parse_yaml(change.substr(equals + 1), change), file.parent_path());
  }
  const Job job = parse_job(words, file.parent_path());
  const PreparedJob prepared = prepare(job);
  Variants variants = variants_of(job, prepared, {});
  const eval::Evaluator evaluator = evaluator_of(job, prepared);
  variants.observe();
  const search::Space& space = prepared.spaces.each.front();
  const BudgetChoices choices(job, space, prepared.model, *prepared.target);
  const std::vector<Assignment> all = all_of(choices);
  const Objective& objective = job.aim.goals.objectives.front();
  const double sign = objective.direction == Direction::maximize ? -1 : 1;
  std::mutex printing;
  parallel_for(all.size(), 0, [&](size_t i) {
    Json line{{"assignment", names_of(choices, all[i])}};
    try {
      const quant::Config config = quant::parse_config(words_of(space, choices.point_of(all[i])));
      quant::Plan plan = variants.plan(config, *prepared.target);
      if (plan.nodes.empty()) return;
      const graph::Model model = variants.build(config, plan).model;
      const eval::Scores scores = evaluator.score(model, 1, job.devices.front());
      line["loss"] = sign * (scores.at(objective.metric).value - evaluator.reference().at(objective.metric).value);
      line["bytes"] = bytes_of(model);
    } catch (const Error& e) {
      const std::lock_guard lock(printing);
      std::fprintf(stderr, "%s: %s\n", line.dump().c_str(), e.what());
      return;
    }
    const std::lock_guard lock(printing);
    std::printf("%s\n", line.dump().c_str());
  });
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: bench_assignments JOB.yaml [KEY=VALUE...]\n");
    return 1;
  }
  try {
    run(words[1], std::span(words + 2, static_cast<size_t>(count) - 2));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_assignments: %s\n", e.what());
    return 1;
  }
}
