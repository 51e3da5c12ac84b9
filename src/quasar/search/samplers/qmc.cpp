// Quasi-Monte Carlo: the points of a scrambled Sobol sequence, which cover the space more evenly than independent draws.
//
// One dimension per parameter; the trial's position in the study is its place in the sequence. Sobol 1967, direction numbers of
// Joe and Kuo 2008 from Boost; scrambling by Owen 1995: each bit is flipped by a hash of the seed, the dimension and all bits
// above it. What is not active is drawn and left unused.
#include <boost/random/sobol.hpp>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/models/coordinates.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr size_t most_dimensions = 3667;  // for which Boost has direction numbers
constexpr int bits = 32;                  // that are scrambled
constexpr int most_skipped = 32;          // points already tried, before a free one is drawn at random

double scrambled(uint64_t word, uint64_t seed, size_t dimension) {
  uint64_t out = 0;
  uint64_t above = seed_of(seed, dimension);
  for (int i = 63; i > 63 - bits; --i) {
    const uint64_t bit = word >> i & 1;
    out |= (bit ^ (seed_of(above, 2) & 1)) << i;
    above = seed_of(above, bit);
  }
  return static_cast<double>(out >> (64 - bits)) / static_cast<double>(uint64_t{1} << bits);
}

class Qmc final : public Sampler {
 public:
  void check(const Space& space) const override {
    if (space.parameters().size() <= most_dimensions) return;
    throw Error("the qmc sampler takes at most " + std::to_string(most_dimensions) + " parameters, but the space has " +
                std::to_string(space.parameters().size()));
  }

  std::optional<Point> next(const History& history, Rng& rng) override {
    check(history.space);
    const auto size = history.space.size();
    if (size && taken_.update(history).size() >= *size) return std::nullopt;
    for (size_t place = history.trials.size(), end = place + most_skipped; place < end; ++place) {
      Point point = at(history, place);
      if (!size || !taken_.contains(*history.space.index_of(point))) return point;
    }
    return history.space.at(taken_.draw_free(*size, rng));
  }

 private:
  Point at(const History& history, size_t place) {
    const auto& parameters = history.space.parameters();
    if (!sequence_) sequence_.emplace(parameters.size());
    if (place < place_) {
      sequence_->seed();
      place_ = 0;
    }
    sequence_->discard((place - place_) * parameters.size());
    Point out;
    for (size_t j = 0; j < parameters.size(); ++j) {
      const Parameter& p = parameters[j];
      const double u = scrambled((*sequence_)(), history.seed, j);
      if (history.space.is_active(p, out)) out.set(p.name, p.pinned ? *p.pinned : from_uniform(*p.distribution, u));
    }
    place_ = place + 1;
    return out;
  }

  Taken taken_;
  std::optional<boost::random::sobol> sequence_;
  size_t place_ = 0;  // of the point that the sequence gives next
};

}  // namespace

Entry<Sampler> qmc() {
  return {.help = "A scrambled Sobol sequence: covers the space evenly, learns nothing.",
          .make = make_as<Qmc, Sampler>,
          .aliases = {"QMCSampler", "sobol"}};
}

}  // namespace quasar::search::samplers
