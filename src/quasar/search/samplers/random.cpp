// Independent uniform draws; from a finite space without replacement.
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

class Random final : public Sampler {
 public:
  std::optional<Point> next(const History& history, Rng& rng) override {
    const auto size = history.space.size();
    if (!size) return history.space.sample(rng);
    const auto& taken = taken_.update(history);
    if (taken.size() >= *size) return std::nullopt;
    return history.space.at(taken_.draw_free(*size, rng));
  }

 private:
  Taken taken_;
};

}  // namespace

Entry<Sampler> random() {
  return {.help = "Uniform draws, without repetition where the space is finite.",
          .make = make_as<Random, Sampler>,
          .aliases = {"random_search"}};
}

}  // namespace quasar::search::samplers
