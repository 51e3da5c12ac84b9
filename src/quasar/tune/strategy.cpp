#include "quasar/tune/strategy.hpp"

namespace quasar::tune {

Json Strategy::default_space(const std::string& /*target*/) const {
  return nullptr;
}

Json Strategy::space_of(const Job& job, const graph::Model& /*model*/, const quant::Target& /*target*/) const {
  return job.search_space;
}

std::vector<Json> Strategy::also_needs(const Job& /*job*/, const graph::Model& /*model*/, const quant::Target& /*target*/) const {
  return {};
}

search::StopConditions conditions_of(const Job& job, int64_t default_trials) {
  Json words = job.stop.is_null() ? Json::object() : job.stop;
  if (!words.is_object()) throw Error("search_stop_condition must be a mapping, not " + words.dump());
  const bool needs_tolerance = words.contains("find_n_candidates") || words.contains("find_best_candidate");
  if (needs_tolerance && job.tolerance.is_null()) {
    for (const char* key : {"find_n_candidates", "find_best_candidate"}) {
      if (words.contains(key) && words[key].is_number() && words[key].get<double>() >= 0) {
        throw Error(std::string("search_stop_condition.") + key +
                    " needs search_metric_tolerance, which says what a candidate is");
      }
    }
  }
  if (job.n_trials > 0) {
    words["n_trials"] = job.n_trials;
  } else if (job.search_algo != "grid") {
    words["n_trials"] = default_trials;
  }
  return search::stop_conditions(words);
}

std::vector<search::Point> first_points(const Job& job, const search::Space& space) {
  std::vector<search::Point> points{space.nearest_to(Json::object())};
  for (const auto& configuration : job.enqueue) points.push_back(space.encode(configuration));
  return points;
}

}  // namespace quasar::tune
