#include "quasar/search/sampler.hpp"

#include "quasar/base/error.hpp"

namespace quasar::search {

void check_objectives(const Sampler& sampler, std::span<const Direction> directions) {
  if (directions.size() < 2 || sampler.takes_several_objectives()) return;
  std::vector<std::string> able;
  for (const auto& name : samplers::table().names()) {
    if (samplers::table().make(name)->takes_several_objectives()) able.push_back(name);
  }
  throw Error("this search_algo takes one objective, but there are " + std::to_string(directions.size()) + "; choose one of " +
              joined(able));
}

}  // namespace quasar::search
