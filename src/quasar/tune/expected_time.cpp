#include "quasar/tune/expected_time.hpp"

#include <optional>

#include "quasar/base/stopwatch.hpp"
#include "quasar/job/cost.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/trial/variants.hpp"

namespace quasar::tune {
namespace {

constexpr int points_per_space = 50;

// Means over configurations drawn from the spaces.
struct Drawn {
  double scoring = 0, rounding = 0;       // in units of scoring the float model
  double rounding_share = 0;              // of the configurations that round
  std::optional<quant::Config> one;       // of all
  std::optional<quant::Config> to_round;  // one of these
  double cost_of_it = 0;                  // of its rounding, in the same units
};

double without_rounding(quant::Config config) {
  config.rounding = {};
  return expected_cost(config);
}

Drawn draw(const Job& job, const Spaces& spaces) {
  Drawn out;
  double count = 0, rounded = 0;
  for (const search::Space& space : spaces.each) {
    Rng rng(job.seed);
    for (int i = 0; i < points_per_space && !space.empty(); ++i) {
      try {
        const quant::Config config = quant::parse_config(words_of(space, space.sample(rng)));
        const double scoring = without_rounding(config), rounding = expected_cost(config) - scoring;
        count += 1, out.scoring += scoring, out.rounding += rounding;
        if (!out.one) out.one = config;
        if (rounding <= 0) continue;
        rounded += 1;
        if (!out.to_round) out.to_round = config, out.cost_of_it = rounding;
      } catch (const Error&) {  // no configuration: it costs nothing
      }
    }
  }
  if (count > 0) out.scoring /= count, out.rounding /= count, out.rounding_share = rounded / count;
  return out;
}

// The second of two stages rounds in every trial, the first in none.
double share_that_rounds(const Setting& setting, double share, uint64_t trials) {
  if (!setting.strategy->in_stages() || share == 0 || trials == 0) return share;
  double calibrations = 0;
  for (const auto& space : setting.spaces.calibration) calibrations += static_cast<double>(space.valid().value_or(0));
  return std::max(0.0, 1 - calibrations / static_cast<double>(trials));
}

// Of rounding this configuration once, material for later trials included; nullopt: it cannot be, or takes long.
std::optional<double> rounding_seconds(const Setting& setting, const quant::Config& config, double guess) {
  constexpr double most = 20;
  if (guess > most) return std::nullopt;
  try {
    Variants variants(setting.original, setting.model, setting.samples.calibration, setting.spaces.needs);
    quant::Plan plan = variants.plan(config, *setting.target);
    const Stopwatch watch;
    variants.build(config, plan);
    return watch.seconds();
  } catch (const Error&) {  // the trial will fail, and say why
    return std::nullopt;
  }
}

// Of making this configuration's model without rounding, and its session; 0: it cannot be.
double building_seconds(const Setting& setting, quant::Config config) {
  config.rounding = {};
  try {
    Variants variants(setting.original, setting.model, setting.samples.calibration, setting.spaces.needs);
    variants.plan(config, *setting.target);  // observes, which is no trial's work
    const Stopwatch watch;
    quant::Plan plan = variants.plan(config, *setting.target);
    const runtime::Session session(variants.build(config, plan).model);
    return watch.seconds();
  } catch (const Error&) {
    return 0;
  }
}

std::optional<double> mean_seconds(std::span<const search::Trial> trials) {
  double sum = 0, count = 0;
  for (const auto& trial : trials) {
    const auto seconds = trial.is_duplicate() ? std::nullopt : trial.seconds();
    if (seconds) sum += *seconds, count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

double seconds_per_trial(const Job& job, const Setting& setting, std::span<const search::Trial> finished, uint64_t trials) {
  if (job.expected_seconds > 0) return job.expected_seconds;
  if (const auto own = mean_seconds(finished)) return *own;
  if (const auto earlier = mean_seconds(setting.earlier)) return *earlier;
  const double run = runtime::latency(setting.model, *setting.samples.evaluation).median_ms / 1000;
  const double scoring = run * static_cast<double>(setting.samples.evaluation->size());
  const Drawn drawn = draw(job, setting.spaces);
  const bool long_to_observe = run * static_cast<double>(setting.samples.calibration->size()) > 5;
  const double building = drawn.one && !long_to_observe ? building_seconds(setting, *drawn.one) : 0;
  const double usual = std::max(drawn.scoring, 1.0) * scoring + building;
  if (!drawn.to_round || drawn.rounding_share == 0) return usual;
  const double guess = drawn.cost_of_it * run * static_cast<double>(setting.samples.calibration->size());
  const double measured = rounding_seconds(setting, *drawn.to_round, guess).value_or(guess);
  const double mean = measured * drawn.rounding / drawn.rounding_share / drawn.cost_of_it;
  return usual + mean * share_that_rounds(setting, drawn.rounding_share, trials);
}

}  // namespace quasar::tune
