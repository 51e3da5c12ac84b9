// Fallback of the operator without which the outputs are nearest to the float model's, scored again after every step on some
// batches; once the goal is met, operators whose return costs least are quantized again as long as it holds.
//
// Most steps score only the operators that may be the best: what an operator would gain hardly grows when another one falls back,
// so that its last score tells whether it must be scored again (M. Minoux, Accelerated greedy algorithms, 1978). As it may grow
// all the same, some steps score all.
#include <algorithm>
#include <cmath>

#include "quasar/sensitivity/unit_errors.hpp"
#include "quasar/strategy/fallback.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t batch = 8;
constexpr size_t mse_v2_combinations = 2;
constexpr size_t scored_anew = 4;      // after so many steps all operators are scored again
constexpr size_t scored_at_once = 12;  // of those that may be the best

class Way {
 public:
  explicit Way(Tuner& tuner)
      : tuner_(tuner),
        start_(best_options(tuner, mse_v2_combinations)),
        samples_(tuner.samples(batch *
                               static_cast<size_t>(tuner.context().job.tuning.kwargs.value("confidence_batches", int64_t{2})))),
        model_(tuner.toggled(start_.config)),
        on_(model_.units().size(), true),
        free_(on_.size()) {
    const auto nodes = fallible_nodes(start_.config, tuner.space());
    for (size_t u = 0; u < on_.size(); u++) free_[u] = std::ranges::find(nodes, model_.units()[u].node) != nodes.end();
  }

  // To the cheapest types first; -> whether the goal is met. Where nothing meets it, others stay quantized in the last one's
  // stead, and the first success ends the strategy as everywhere.
  bool fall_back() {
    bool met = start_.trial.is_candidate();
    for (const auto& type : fallback_types(tuner_.space())) {
      if (met) break;
      type_ = type;
      on_.assign(on_.size(), true);
      tuner_.tell("fallback" + (type == in_float ? std::string() : " to " + type));
      for (size_t k = 0; !met; k++) {
        const auto chosen = next(k);
        if (!chosen) break;
        on_[*chosen] = false;
        const TuneConfig config = current();
        met = tuner_.why_impossible(config).empty() && tuner_.explore(config).is_candidate();
      }
      if (!met) leave_another(tuner_, start_.config, groups(), type_);
    }
    return met;
  }

  // One after another as long as the goal holds, ends with the first that misses it. One whose trial fails proves nothing: it
  // stays as it is, and the next one takes its turn.
  void revert() {
    tuner_.tell("revert fallback");
    std::vector<bool> free = free_;
    while (std::ranges::count(on_, false) > 1) {
      std::vector<bool> off = on_;
      off.flip();
      std::vector<double> errors = with_each(model_, *samples_, on_);
      locally_if_need_be(errors, off, 1);
      const auto chosen = least(errors, off, free);
      if (!chosen) return;
      on_[*chosen] = true;
      const search::Trial trial = tuner_.explore(current());
      if (trial.is_candidate()) continue;
      if (trial.state != search::State::failed) return;
      on_[*chosen] = false;
      free[*chosen] = false;
    }
  }

 private:
  TuneConfig current() const {
    std::vector<std::string> fallen;
    for (size_t u = 0; u < on_.size(); u++) {
      if (!on_[u]) fallen.push_back(model_.units()[u].node);
    }
    return with_float(start_.config, tuner_.space(), fallen, type_);
  }

  // The unit that falls back as number k: the same for every type, since a switch that is off stands for float32.
  std::optional<size_t> next(size_t k) {
    if (k < order_.size()) return order_[k];
    auto chosen = k % scored_anew == 0 || gains_.empty() ? std::nullopt : best_of_the_promising();
    if (!chosen) chosen = best_of_all(k == 0);
    if (!chosen || std::ranges::count(on_, true) <= 1) return std::nullopt;
    order_.push_back(*chosen);
    return chosen;
  }

  std::optional<size_t> best_of_all(bool first) {
    std::vector<double> errors = without_each(model_, *samples_, on_, on_);
    if (first) {
      tuner_.tell_sensitivity(listed(model_, errors));
      present_ = with_all(model_, *samples_);
    }
    gains_.clear();
    if (are_finite(errors, on_)) {
      for (const double error : errors) gains_.push_back(present_ - error);
    }
    locally_if_need_be(errors, on_, -1);
    const auto chosen = least(errors, on_, free_);
    if (chosen) present_ = errors[*chosen];
    return chosen;
  }

  // nullopt: none, or their outputs cannot be compared.
  std::optional<size_t> best_of_the_promising() {
    std::vector<size_t> waiting;  // the most promising last
    for (size_t u = 0; u < on_.size(); u++) {
      if (on_[u] && free_[u]) waiting.push_back(u);
    }
    std::ranges::stable_sort(waiting, [&](size_t a, size_t b) { return gains_[a] < gains_[b]; });
    std::optional<size_t> best;
    while (!waiting.empty() && (!best || gains_[waiting.back()] > gains_[*best])) {
      std::vector<bool> among(on_.size(), false);
      for (size_t i = 0; i < scored_at_once && !waiting.empty(); i++, waiting.pop_back()) among[waiting.back()] = true;
      const std::vector<double> errors = without_each(model_, *samples_, on_, among);
      if (!are_finite(errors, among)) return std::nullopt;
      for (size_t u = 0; u < among.size(); u++) {
        if (!among[u]) continue;
        gains_[u] = present_ - errors[u];
        if (!best || gains_[u] > gains_[*best]) best = u;
      }
    }
    if (best) present_ -= gains_[*best];
    return best;
  }

  static bool are_finite(const std::vector<double>& errors, const std::vector<bool>& among) {
    for (size_t u = 0; u < errors.size(); u++) {
      if (among[u] && !std::isfinite(errors[u])) return false;
    }
    return true;
  }

  // In the order in which they fall back, with the last one, which stays quantized.
  std::vector<std::vector<std::string>> groups() const {
    std::vector<std::vector<std::string>> out;
    for (const size_t unit : order_) out.push_back({model_.units()[unit].node});
    for (size_t u = 0; u < on_.size(); u++) {
      if (free_[u] && std::ranges::find(order_, u) == order_.end()) out.push_back({model_.units()[u].node});
    }
    return out;
  }

  // Where outputs cannot be compared, the noise at each unit's own output stands for them.
  void locally_if_need_be(std::vector<double>& errors, const std::vector<bool>& among, double sign) {
    if (are_finite(errors, among)) return;
    if (noise_.empty()) {
      for (const auto& unit : alone(model_, *samples_)) noise_.push_back(unit.noise_to_signal);
    }
    for (size_t u = 0; u < errors.size(); u++) errors[u] = sign * noise_[u];
  }

  // What helps most first: `error_without` is the distance of the outputs with this operator alone in float.
  static std::vector<Story::Sensitivity> listed(const ToggledModel& model, const std::vector<double>& errors) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t u = 0; u < errors.size(); u++) order.emplace_back(errors[u], u);
    std::ranges::sort(order);
    std::vector<Story::Sensitivity> out;
    for (const auto& [error, u] : order)
      out.push_back({model.units()[u].node, model.units()[u].op_type, {{"error_without", error}}});
    return out;
  }

  static std::optional<size_t> least(const std::vector<double>& errors, const std::vector<bool>& among,
                                     const std::vector<bool>& free) {
    std::optional<size_t> best;
    for (size_t u = 0; u < errors.size(); u++) {
      if (among[u] && free[u] && (!best || errors[u] < errors[*best])) best = u;
    }
    return best;
  }

  Tuner& tuner_;
  const Attempt start_;
  const data::DatasetPtr samples_;
  const ToggledModel model_;
  std::vector<bool> on_, free_;  // of each unit: quantized; may fall back
  std::vector<size_t> order_;    // in which units fall back, as far as it is known
  std::vector<double> noise_;    // of each unit at its own output; empty: not needed so far
  std::vector<double> gains_;    // by how much each unit's return brought the outputs nearer when last scored; empty: unknown
  double present_ = 0;           // the outputs' distance with the units that are on
  std::string type_ = in_float;
};

class MseV2 final : public TuningStrategy {
 public:
  std::vector<std::string> kwargs() const override { return {"confidence_batches"}; }
  void traverse(Tuner& tuner) const override {
    Way way(tuner);
    if (way.fall_back()) way.revert();
  }

 protected:
  std::string name() const override { return "mse_v2"; }
};

}  // namespace

Entry<Strategy> mse_v2() {
  return {.help = "Fallback of what helps the outputs most, scored again after each step; then what can return does.",
          .make = make_as<MseV2, Strategy>};
}

}  // namespace quasar::tune::strategies
