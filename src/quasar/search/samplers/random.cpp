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
    return history.space.at(taken.size() * 2 < *size ? draw(taken, *size, rng) : draw_rest(taken, *size, rng));
  }

 private:
  // Less than half is taken: two attempts on average.
  static uint64_t draw(const std::unordered_set<uint64_t>& taken, uint64_t size, Rng& rng) {
    uint64_t index = rng.below(size);
    while (taken.contains(index)) index = rng.below(size);
    return index;
  }

  static uint64_t draw_rest(const std::unordered_set<uint64_t>& taken, uint64_t size, Rng& rng) {
    uint64_t skip = rng.below(size - taken.size());
    uint64_t index = 0;
    while (taken.contains(index) || skip-- > 0) ++index;
    return index;
  }

  Taken taken_;
};

}  // namespace

Entry<Sampler> random() {
  return {.help = "Uniform draws, without repetition where the space is finite.",
          .make = make_as<Random, Sampler>,
          .aliases = {"random_search"}};
}

}  // namespace quasar::search::samplers
