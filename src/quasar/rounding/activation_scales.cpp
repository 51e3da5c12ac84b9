#include "quasar/rounding/activation_scales.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include "quasar/base/hash.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/rounding/judges.hpp"
#include "quasar/rounding/normalization.hpp"
#include "quasar/rounding/scale_trial.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/stats/summary.hpp"

namespace quasar::tune {
namespace {

bool is_power_of_two(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

// The parameters for a range of codes low … high of the present grid (as real numbers).
quant::QuantParams clipped(const quant::QuantParams& params, double low, double high) {
  const auto grid = quant::grid_of(params.type, false);
  const double scale = static_cast<double>(params.scales[0]);
  const double from = scale * low * static_cast<double>(grid.low - params.zero_points[0]);
  const double to = scale * high * static_cast<double>(grid.high - params.zero_points[0]);
  const auto fresh = quant::scale_for({from, to}, params.type, false);
  quant::QuantParams out = params;
  out.scales[0] = fresh.scale;
  out.zero_points[0] = fresh.zero_point;
  return out;
}

quant::QuantParams scaled(const quant::QuantParams& params, double factor) {
  quant::QuantParams out = params;
  out.scales[0] = static_cast<float>(static_cast<double>(params.scales[0]) * factor);
  return out;
}

// The present parameters first; then twice and half of a power of two (where the grid allows it), or ranges clipped at one end or
// both.
std::vector<quant::QuantParams> scale_candidates(const quant::QuantParams& params) {
  const auto grid = quant::grid_of(params.type, false);
  const auto symmetric = quant::grid_of(params.type, true);
  const bool centred = params.zero_points[0] == (symmetric.low + symmetric.high) / 2;
  std::vector<quant::QuantParams> out{params};
  if (is_power_of_two(params.scales[0])) {
    if (!centred && params.zero_points[0] != grid.low && params.zero_points[0] != grid.high) return out;
    for (const double factor : {2.0, 0.5}) out.push_back(scaled(params, factor));
  } else if (centred || params.zero_points[0] == grid.low || params.zero_points[0] == grid.high) {
    for (const double factor : {0.9, 0.8, 0.65}) out.push_back(scaled(params, factor));
  } else {
    for (const double factor : {0.9, 0.75}) {
      out.push_back(clipped(params, 1, factor));
      out.push_back(clipped(params, factor, 1));
      out.push_back(clipped(params, factor, factor));
    }
  }
  std::erase_if(out, [](const quant::QuantParams& p) { return !std::isnormal(p.scales[0]); });
  return out;
}

// Kernels of LSTM and GRU may hold their own states, between -1 and 1, on the grid of what they read
// (quant/targets/openvino.cpp): a finer one would clip them, which ONNX Runtime's arithmetic does not show.
bool is_read_by_recurrent(const graph::Index& index, const std::string& value) {
  return std::ranges::any_of(index.consumers(value), [](const graph::Node* node) { return ops::is_recurrent(*node); });
}

constexpr size_t layers_ahead = 2;
constexpr size_t fewest_samples = 16, usual_samples = 64;
constexpr size_t wanted_values = size_t{1} << 20;          // of a tensor, over its samples
constexpr size_t cheap_values = size_t{1} << 17;           // likewise: all samples judge
constexpr size_t screenings[] = {4, 8, 16, 32, SIZE_MAX};  // judges after which candidates are given up
constexpr double largest_bias_code = 1 << 30;              // as where biases are planned

class Refinement {
 public:
  Refinement(const graph::Model& model, const quant::Plan& plan, const data::Dataset& samples, const RefineOptions& options)
      : model_(model), plan_(plan), samples_(samples), options_(options), memo_(options.memo ? *options.memo : own_memo_) {}

  std::map<std::string, quant::QuantParams> run(const std::function<void()>& check) {
    find_trials();
    if (trials_.empty()) return {};
    taps_ = taps();
    recall();
    if (trials_.empty()) return std::move(out_);
    const runtime::Session reference(runtime::tapped(model_, taps_));
    call_judges(reference);
    for (size_t first = 0; first < trials_.size();) {
      if (check) check();
      size_t last = first, bytes = 0;
      while (last < trials_.size() && (last == first || bytes + trials_[last].window.weight_bytes <= options_.memory_limit))
        bytes += trials_[last++].window.weight_bytes;
      measure({trials_.begin() + static_cast<std::ptrdiff_t>(first), trials_.begin() + static_cast<std::ptrdiff_t>(last)},
              reference);
      if (last < trials_.size()) give_back_memory();  // what one stretch held would stand beside what the next one holds
      first = last;
    }
    return std::move(out_);
  }

 private:
  void find_trials() {
    auto groups = shared_scales(model_, plan_);
    if (groups.empty()) return;
    const graph::Index index(model_);
    const auto types = runtime::value_types(model_);
    for (auto& group : groups) {
      if (std::ranges::any_of(group, [this](const std::string& value) { return options_.keep.contains(value); })) continue;
      if (std::ranges::any_of(group, [&](const std::string& value) { return is_read_by_recurrent(index, value); })) continue;
      auto window = scale_window(index, types, plan_, group, layers_ahead);
      if (!window) continue;
      ScaleTrial trial{std::move(group), std::move(*window)};
      for (const auto& output : trial.window.outputs) trial.normalized.push_back(normalized_value(output, index));
      trial.candidates = scale_candidates(plan_.values.at(trial.group.front()));
      trials_.push_back(std::move(trial));
    }
    std::erase_if(trials_, [](const ScaleTrial& trial) { return trial.candidates.size() < 2; });
  }

  // What a session of the float model can give, which its kernels depend on: all that any plan looks at, so that neither how
  // many windows fit nor which were looked at before changes a value; and what these trials look at besides.
  std::vector<std::string> taps() const {
    const auto values = quant::observed_values(model_);
    std::set<std::string> wanted(values.begin(), values.end());
    for (const auto& trial : trials_) {
      wanted.insert(trial.window.inputs.begin(), trial.window.inputs.end());
      wanted.insert(trial.window.outputs.begin(), trial.window.outputs.end());
      for (const auto& value : trial.normalized) {
        if (!value.empty()) wanted.insert(value);
      }
    }
    return {wanted.begin(), wanted.end()};
  }

  // What was decided before, in trials of other plans whose windows are the same, need not be looked at again.
  void recall() {
    const std::string looked_at = hash_of(Json(taps_).dump());
    for (auto& trial : trials_) {
      Json candidates = Json::array();
      for (const auto& params : trial.candidates)
        candidates.push_back({name_of(params.type), std::bit_cast<uint32_t>(params.scales[0]), params.zero_points[0]});
      trial.key = hash_of(graph::to_bytes(trial.window.model) +
                          Json{looked_at, trial.window.inputs, trial.window.outputs, trial.normalized, candidates}.dump());
      if (const auto choice = memo_.choice(trial.key)) adopt(trial, *choice);
    }
    std::erase_if(trials_, [this](const ScaleTrial& trial) { return memo_.choice(trial.key).has_value(); });
  }

  std::map<std::string, Tensor> values_of(size_t sample, const runtime::Session& reference,
                                          const std::vector<ScaleTrial*>& trials) const {
    std::set<std::string> wanted;
    for (const ScaleTrial* trial : trials) {
      for (const auto* names : {&trial->window.inputs, &trial->window.outputs, &trial->normalized})
        wanted.insert(names->begin(), names->end());
    }
    wanted.erase("");
    const std::vector<std::string> names(wanted.begin(), wanted.end());
    std::map<std::string, Tensor> values;
    auto outputs = reference.run(samples_.at(sample), names);
    for (size_t i = 0; i < names.size(); i++) values[names[i]] = std::move(outputs[i]);
    return values;
  }

  // The float model runs once per sample for all these trials.
  void measure(std::span<ScaleTrial> trials, const runtime::Session& reference) {
    parallel_for(trials.size(), options_.threads, [&](size_t i) { trials[i].open(); });
    const auto look_at = [&](size_t from, size_t to) {
      std::map<size_t, std::vector<ScaleTrial*>> wanted;  // by sample
      for (auto& trial : trials) {
        for (size_t i = from; i < std::min(to, trial.judges.size()) && !trial.settled(); i++)
          wanted[trial.judges[i].sample].push_back(&trial);
      }
      const std::vector<std::pair<size_t, std::vector<ScaleTrial*>>> runs(wanted.begin(), wanted.end());
      size_t looked_at = 0;
      const auto work = [&](size_t i) {
        const auto& [sample, looking] = runs[i];
        const auto values = values_of(sample, reference, looking);
        std::vector<double> found;
        for (const ScaleTrial* trial : looking) std::ranges::copy(trial->look_at(values), std::back_inserter(found));
        return found;
      };
      const auto tell = [&](size_t i, std::span<const double> found) {
        for (ScaleTrial* trial : runs[i].second) {
          trial->note(trial->slots.at(runs[i].first), found.first(trial->numbers()));
          found = found.subspan(trial->numbers());
        }
        note_share(trials, from, to, static_cast<double>(++looked_at) / static_cast<double>(runs.size()));
        return true;
      };
      const auto numbers = [&](size_t i) {
        size_t count = 0;
        for (const ScaleTrial* trial : runs[i].second) count += trial->numbers();
        return count;
      };
      do_parts(options_.sharer, {.name = work_on(trials, from, to),
                                 .parts = runs.size(),
                                 .threads = options_.threads,
                                 .numbers = numbers,
                                 .work = work,
                                 .tell = tell});
    };
    size_t seen = 0;
    for (const size_t next : screenings) {
      look_at(seen, next);
      for (auto& trial : trials) {
        if (!trial.settled()) trial.screen(std::min(next, trial.judges.size()));
      }
      seen = next;
    }
    for (auto& trial : trials) {
      trial.close();
      const size_t choice = trial.best();
      memo_.keep(trial.key, choice);
      adopt(trial, choice);
    }
  }

  static std::string work_on(std::span<const ScaleTrial> trials, size_t from, size_t to) {
    std::string keys;
    for (const auto& trial : trials) keys += trial.key + ' ';
    return hash_of(keys + std::to_string(from) + ' ' + std::to_string(to));
  }

  // Of these trials the judges before `from` are through, and this part of those up to `to`: as if no trial were settled early.
  void note_share(std::span<const ScaleTrial> trials, size_t from, size_t to, double part) const {
    if (!options_.progress) return;
    size_t most = 1;
    for (const auto& trial : trials) most = std::max(most, trial.judges.size());
    const double judged = static_cast<double>(from) + part * static_cast<double>(std::min(to, most) - std::min(from, most));
    const double done = static_cast<double>(trials.data() - trials_.data()) +
                        static_cast<double>(trials.size()) * judged / static_cast<double>(most);
    options_.progress(work_of_refining, done / static_cast<double>(trials_.size()));
  }

  void call_judges(const runtime::Session& reference) {
    std::vector<ScaleTrial*> all;
    for (auto& trial : trials_) all.push_back(&trial);
    const auto example = values_of(0, reference, all);
    std::set<std::string> cheap, others;
    std::vector<size_t> most;
    for (const auto& trial : trials_) {
      const std::string& start = trial.window.inputs.front();
      const size_t count = std::max<size_t>(example.at(start).count(), 1);
      const bool is_cheap = count * samples_.size() <= cheap_values;
      most.push_back(is_cheap ? samples_.size() : std::clamp(wanted_values / count, fewest_samples, usual_samples));
      (is_cheap ? cheap : others).insert(start);
    }
    const auto every = spread_over(samples_.size(), samples_.size()), some = spread_over(samples_.size(), usual_samples);
    const auto reaches_of_cheap = reaches_of(cheap, every, reference), reaches_of_others = reaches_of(others, some, reference);
    for (size_t i = 0; i < trials_.size(); i++) {
      const std::string& start = trials_[i].window.inputs.front();
      const auto found = reaches_of_cheap.find(start);
      const bool is_cheap = found != reaches_of_cheap.end();
      std::vector<Judge> chosen = judges(is_cheap ? found->second : reaches_of_others.at(start), most[i]);
      for (Judge& judge : chosen) judge.sample = (is_cheap ? every : some)[judge.sample];
      trials_[i].begin(std::move(chosen));
    }
  }

  // How far values reach in each of these samples: one run of the float model.
  std::map<std::string, std::vector<Reach>> reaches_of(const std::set<std::string>& values, const std::vector<size_t>& samples,
                                                       const runtime::Session& reference) {
    std::map<std::string, std::vector<Reach>> out;
    std::vector<std::string> names;
    const auto key = [&, seen_in = hash_of(Json{taps_, samples}.dump())](const std::string& name) { return seen_in + name; };
    for (const auto& name : values) {
      const auto known = memo_.reach(key(name));
      out[name] = known.value_or(std::vector<Reach>(samples.size()));
      if (!known) names.push_back(name);
    }
    if (names.empty()) return out;
    const auto work = [&](size_t i) {
      std::vector<double> ends;
      for (const Tensor& found : reference.run(samples_.at(samples[i]), names)) {
        const stats::Summary seen = stats::summarize(found.as<float>());
        ends.insert(ends.end(), {seen.low, seen.high});
      }
      return ends;
    };
    const auto tell = [&](size_t i, std::span<const double> ends) {
      for (size_t n = 0; n < names.size(); n++)
        out.at(names[n])[i] = {static_cast<float>(ends[2 * n]), static_cast<float>(ends[2 * n + 1])};
      return true;
    };
    do_parts(options_.sharer, {.name = hash_of(key("") + Json(names).dump()),
                               .parts = samples.size(),
                               .threads = options_.threads,
                               .numbers = [&](size_t) { return 2 * names.size(); },
                               .work = work,
                               .tell = tell});
    for (const auto& name : names) memo_.keep(key(name), out.at(name));
    return out;
  }

  void adopt(const ScaleTrial& trial, size_t choice) {
    if (choice == 0 || !biases_fit(trial.group, trial.candidates[choice])) return;
    const quant::QuantParams& chosen = trial.candidates[choice];
    for (const auto& value : trial.group) {
      quant::QuantParams params = plan_.values.at(value);
      const auto shift = static_cast<int32_t>(quant::grid_of(params.type, false).low - quant::grid_of(chosen.type, false).low);
      params.scales = chosen.scales;
      params.zero_points[0] = chosen.zero_points[0] + shift;
      out_[value] = params;
    }
  }

  // Codes of biases grow as the scale of the layer's input shrinks.
  bool biases_fit(const SharedScale& group, const quant::QuantParams& params) const {
    for (const auto& node : model_.nodes) {
      const auto found = plan_.nodes.find(node.name);
      if (found == plan_.nodes.end() || !found->second.bias || !found->second.weight) continue;
      if (std::ranges::count(group, node.inputs[0]) == 0) continue;
      const Tensor* bias = model_.initializer(node.inputs[found->second.bias->input]);
      const auto& scales = found->second.weight->params.scales;
      const auto values = bias->as<float>();
      for (size_t i = 0; i < values.size(); i++) {
        const double step = static_cast<double>(params.scales[0]) * static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
        if (std::abs(static_cast<double>(values[i])) > step * largest_bias_code) return false;
      }
    }
    return true;
  }

  const graph::Model& model_;
  const quant::Plan& plan_;
  const data::Dataset& samples_;
  RefineOptions options_;
  WindowMemo own_memo_;
  WindowMemo& memo_;
  std::vector<ScaleTrial> trials_;
  std::vector<std::string> taps_;
  std::map<std::string, quant::QuantParams> out_;
};

}  // namespace

std::map<std::string, quant::QuantParams> refined_activations(const graph::Model& model, const quant::Plan& plan,
                                                              const data::Dataset& samples, const RefineOptions& options,
                                                              const std::function<void()>& check) {
  if (samples.size() == 0) return {};
  return Refinement(model, plan, samples, options).run(check);
}

}  // namespace quasar::tune
