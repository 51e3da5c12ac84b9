#include "quasar/tune/measure_speed.hpp"

#include <algorithm>

#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/sensitivity/cheapest_float.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/tune/idle_forms.hpp"

namespace quasar::tune {
namespace {

// Of a time_limit, measuring takes a tenth at most, of a short one up to a quarter, but for models on which single runs take so
// long.
constexpr double limit_for_all = 200, share_of_limit = 0.1, share_of_short_limit = 0.25, usual_seconds = 3, usual_runs = 100;
constexpr double share_of_one = 0.25;  // one measurement, of the time for all
// Forms are measured until so much of that time is over: a slow one that wins makes the whole search useless.
constexpr double share_for_forms = 1.5;
constexpr double seconds_for_operators = 4;
constexpr runtime::Effort to_choose{.turns = 12, .seconds = 4, .at_least = 0.3},
    to_decide{.turns = 100, .seconds = 8, .at_least = 0.6};

constexpr double seconds_on_all = 4;
// A change of form may cost more than its kernel: layouts change with it.
constexpr double prices_of_conversions[] = {1, 10};

// A model that takes part: what stays in float beyond what was planned.
struct Form {
  std::set<std::string> in_float;
  graph::Model model;
};

class Measuring {
 public:
  Measuring(const Job& job, const PreparedJob& prepared, Variants& variants, const Log& log, double float_seconds,
            const Timers& timers)
      : job_(job),
        prepared_(prepared),
        variants_(variants),
        log_(log),
        float_seconds_(float_seconds),
        timers_(timers),
        limit_(time_limit_of(conditions_of(job.limits))),
        share_(limit_ ? std::min(1.0, *limit_ / limit_for_all) : 1),
        words_(first_words(prepared.spaces)) {
    const quant::Config config = quant::parse_config(words_);
    graph_ = variants_.graph_of(config);
    plan_ = variants_.plan(config, *prepared_.target);
  }

  bool has_pairs() const { return quant::form_of(quant::parse_config(words_).activation) == quant::NodeForm::pairs; }

  SpeedGate result() {
    add({});
    const std::string saturation = faster_saturation();
    if (forms_.empty()) return {.told = "hardly anything is quantized, so that no speed is measured"};
    slow_ = slow_kernels();
    if (is_late()) return unmeasured(saturation);
    add(slow_);
    add(all_but_products());
    const OperatorCosts costs = costs_of(forms_[0]);
    if (is_late()) return unmeasured(saturation);
    add_cheapest(costs);
    auto [best, gain] = fastest(0);
    if (best > 0 && gain >= *job_.speed_gate && is_early()) {  // once more, by what operators cost beside those in float
      const size_t known = forms_.size();
      add_cheapest(with_costs_of(forms_[best], costs));
      best = fastest(known, best).form;
    }
    SpeedGate out = decided(best);
    std::set<std::string> in_float = out.regions.empty() ? std::set<std::string>{} : forms_[best].in_float;
    if (!is_late()) look_at_all_cores(out, in_float);
    out.saturation = saturation;
    if (!saturation.empty()) out.told += "; with int8 weights in convolutions of few products (saturation: " + saturation + ")";
    spare_faster_forms(out, in_float);
    if (!is_late(share_for_forms)) leave_out_slow_forms(out, out.regions.empty() ? std::set<std::string>{} : in_float);
    return out;
  }

 private:
  // Building models for it may take long, too. The next measurement runs three models twice at least.
  bool is_late(double share = 1) const {
    constexpr double least_runs = 6;
    return limit_ && watch_.seconds() + least_runs * float_seconds_ > share * allowed_seconds();
  }
  // Deciding and measuring the other forms take about two thirds of the time.
  bool is_early() const { return !limit_ || watch_.seconds() < allowed_seconds() / 3; }

  double seconds_for(const runtime::Effort& effort) const {
    return limit_ ? std::min(effort.seconds * share_, share_of_one * allowed_seconds()) : effort.seconds;
  }

  double allowed_seconds() const {
    const double share = *limit_ * share_of_limit;
    if (float_seconds_ * usual_runs > usual_seconds) return share;
    return std::min(std::max(share, usual_seconds), *limit_ * share_of_short_limit);
  }

  const data::Dataset& samples() const { return *prepared_.samples.evaluation; }

  Json words_of_form(const std::string& name) const {
    Json words = words_;
    words["form"] = name;
    return words;
  }

  // What is known to be slow, without a measurement.
  SpeedGate unmeasured(const std::string& saturation) {
    SpeedGate out{.saturation = saturation, .told = "nothing is measured: time_limit leaves too little time for it"};
    if (slow_.empty() || !planned(words_, slow_)) return out;
    out.regions = regions_of(graph_->model, slow_);
    out.told += "; operators in float, as their integer kernels are known to be slower: " + std::to_string(slow_.size());
    return out;
  }

  std::set<std::string> slow_kernels() const {
    std::set<std::string> out;
    for (const auto& node : graph_->model.nodes) {
      if (plan_.nodes.contains(node.name) && prepared_.target->is_slower_in_codes(node, graph_->model)) out.insert(node.name);
    }
    return out;
  }

  std::set<std::string> all_but_products() const {
    const quant::Plan kept = variants_.plan(quant::parse_config(words_of_form("products")), *prepared_.target);
    std::set<std::string> out;
    for (const auto& [name, planned] : plan_.nodes) {
      if (!kept.nodes.contains(name)) out.insert(name);
    }
    return out;
  }

  struct Planned {
    quant::Config config;
    quant::Plan plan;
    std::string hash;
  };

  // Of this configuration with these operators in float besides; nullopt: hardly anything is quantized.
  std::optional<Planned> planned(Json words, const std::set<std::string>& in_float) {
    Json exclude = words.value("exclude", Json());
    if (!exclude.is_array()) exclude = exclude.is_null() ? Json::array() : Json::array({exclude});
    for (const auto& node : in_float) exclude.push_back(node);
    if (!exclude.empty()) words["exclude"] = exclude;
    Planned out{.config = quant::parse_config(words), .plan = {}, .hash = {}};
    out.plan = variants_.plan(out.config, *prepared_.target);
    out.hash = quant::hash_of(out.plan);
    return is_idle(out.plan, variants_, out.config) ? std::nullopt : std::optional(std::move(out));
  }

  // Tables of Gather stay codes: they take no time, and most of some files.
  void add(std::set<std::string> in_float) {
    for (const auto& node : graph_->model.nodes) {
      if (node.is("Gather") && quant::is_table(node, graph_->model)) in_float.erase(node.name);
    }
    auto found = planned(words_, in_float);
    if (!found || !hashes_.insert(found->hash).second) return;
    forms_.push_back({std::move(in_float), variants_.build(found->config, found->plan).model});
  }

  // Of weights that are uint8 to be exact and would be faster as int8; "": they stay. The planned model is that one then.
  std::string faster_saturation() {
    constexpr double worth_it = 1.1;
    if (forms_.empty() || is_late() || prepared_.spaces.all.find("saturation") != nullptr ||
        prepared_.spaces.all.find("reduce_range") != nullptr || words_.contains("saturation"))
      return "";
    Json words = words_;
    words["saturation"] = name_of(quant::Saturation::raise_scales);
    auto found = planned(words, {});
    if (!found || hashes_.contains(found->hash)) return "";
    const graph::Model model = variants_.build(found->config, found->plan).model;
    const Times times = times_of(std::vector<const graph::Model*>{&prepared_.model, &forms_[0].model, &model}, to_choose);
    const runtime::Ratio of_planned = runtime::ratio_of(times[2], times[1]);
    tell(log_, Level::debug, "int8 weights throughout: " + in_digits(of_planned.median, 3) + " × the planned model's time");
    if (of_planned.median * worth_it > 1 || of_planned.high >= 1) return "";
    words_ = words;
    plan_ = variants_.plan(found->config, *prepared_.target);
    hashes_ = {found->hash};
    forms_[0].model = model;
    return words["saturation"];
  }

  // Operators in float that only bring the first form to float's time are not worth a form that they leave nothing to quantize
  // and that is faster without them: then none stay in float.
  void spare_faster_forms(SpeedGate& gate, const std::set<std::string>& in_float) {
    if (gate.regions.empty() || gate.gated * *job_.speed_gate <= 1 || is_late()) return;
    std::vector<std::string> names;
    std::vector<graph::Model> models;
    for (const auto& name : prepared_.spaces.names_of_other_forms()) {
      auto found = planned(words_of_form(name), {});
      if (!found || planned(words_of_form(name), in_float)) continue;
      names.push_back(name);
      models.push_back(variants_.build(found->config, found->plan).model);
    }
    if (models.empty()) return;
    const auto ratios = ratios_of(models);
    for (size_t i = 0; i < names.size(); i++) {
      const double of_float = ratios[i].median;
      if (of_float * *job_.speed_gate >= gate.gated) continue;
      gate.regions.clear();
      gate.on_all.reset();
      slower_on_all_ = false;
      gate.gated = gate.planned;
      gate.form_times[Spaces::form_of(prepared_.spaces.calibration.front())] = gate.planned;
      gate.form_times[names[i]] = of_float;
      gate.told += "; but form " + names[i] + " takes " + in_digits(of_float, 3) + " × without them, so that none stay";
      return;
    }
  }

  // Those that the spaces offer, with the same operators in float: a form that is slower than float beyond noise, and than the
  // first form, is not worth a trial.
  void leave_out_slow_forms(SpeedGate& gate, const std::set<std::string>& held) {
    const auto first = planned(words_, held);
    std::map<std::string, size_t> places{{first ? first->hash : "", 0}};  // by hash; 0: the first form
    std::map<std::string, size_t> place_of;                               // by name
    std::vector<graph::Model> models;
    for (const auto& name : prepared_.spaces.names_of_other_forms()) {
      auto found = planned(words_of_form(name), held);
      if (!found) {
        gate.idle_forms.insert(name);
        gate.told += "; form " + name + " is left out: with these operators in float it quantizes hardly anything";
        continue;
      }
      const auto [place, is_new] = places.emplace(found->hash, models.size() + 1);
      place_of[name] = place->second;
      if (is_new) models.push_back(variants_.build(found->config, found->plan).model);
    }
    if (place_of.empty()) return;
    const double usual = slower_on_all_ ? std::max(gate.gated, *gate.on_all) : gate.gated;
    gate.form_times[Spaces::form_of(prepared_.spaces.calibration.front())] = usual;
    auto ratios = ratios_of(models);
    ratios.insert(ratios.begin(), {.median = usual, .low = usual, .high = usual});
    for (const auto& [name, place] : place_of) {
      const runtime::Ratio& of_float = ratios[place];
      tell(log_, Level::debug, "form " + name + ": " + in_digits(of_float.median, 3) + " × the float model's time");
      gate.form_times[name] = of_float.median;
      if (of_float.low <= form_noise || of_float.median <= usual) continue;
      gate.slower_forms.insert(name);
      gate.told += "; form " + name + " is left out: it takes " + in_digits(of_float.median, 3) + " ×";
    }
  }

  OperatorCosts costs_of(const Form& form, int threads = 1) const {
    return timers_.operators(prepared_.model, form.model, samples(), share_ * seconds_for_operators, threads);
  }

  // What operators cost in the form that they have there.
  OperatorCosts with_costs_of(const Form& form, OperatorCosts costs) const {
    const OperatorCosts now = costs_of(form);
    for (auto& [name, cost] : costs.operators) {
      const auto found = now.operators.find(name);
      (form.in_float.contains(name) ? cost.in_float : cost.quantized) =
          found == now.operators.end() ? 0 : found->second.quantized;
    }
    costs.entering = now.entering;
    costs.leaving = now.leaving;
    return costs;
  }

  void add_cheapest(const OperatorCosts& costs) {
    for (const double price : prices_of_conversions) {
      std::set<std::string> in_float =
          cheapest_float(graph_->model, plan_, costs, variants_.seen(quant::parse_config(words_)), price);
      in_float.insert(slow_.begin(), slow_.end());
      add(std::move(in_float));
    }
  }

  std::vector<runtime::Ratio> ratios_of(const std::vector<graph::Model>& models) const {
    if (models.empty()) return {};
    std::vector<const graph::Model*> all{&prepared_.model};
    for (const auto& model : models) all.push_back(&model);
    runtime::Effort effort = to_choose;
    effort.seconds = seconds_for(effort);
    return beside_float(all, samples(), effort, *job_.speed_gate, job_.devices.front(), timers_);
  }

  using Times = std::vector<std::vector<double>>;

  // Of the float model first, then of these forms.
  Times times_of(const std::vector<size_t>& forms, const runtime::Effort& effort) const {
    std::vector<const graph::Model*> models{&prepared_.model};
    for (const size_t form : forms) models.push_back(&forms_[form].model);
    return times_of(models, effort);
  }

  Times times_of(const std::vector<const graph::Model*>& models, runtime::Effort effort) const {
    effort.seconds = seconds_for(effort);
    return timers_.models(models, samples(), effort, job_.devices.front());
  }

  struct Fastest {
    size_t form;
    double gain;  // how many times as long the first of those measured takes
  };

  // Of the forms from `first` on and one more, by few runs. The others, but for the planned one, are given up.
  Fastest fastest(size_t first, std::optional<size_t> another = {}) {
    std::vector<size_t> forms;
    if (another) forms.push_back(*another);
    for (size_t i = first; i < forms_.size(); i++) forms.push_back(i);
    const Times times = times_of(forms, to_choose);
    size_t best = 0;
    std::vector<double> of_float;
    for (size_t i = 0; i < forms.size(); i++) {
      of_float.push_back(runtime::ratio_of(times[i + 1], times[0]).median);
      if (of_float[i] < of_float[best]) best = i;
      tell(log_, Level::debug,
           std::to_string(forms_[forms[i]].in_float.size()) + " operators in float: " + in_digits(of_float[i], 3) +
               " × the float model's time");
    }
    for (const size_t form : forms) {
      if (form != forms[best] && form != 0) forms_[form].model = {};
    }
    return {forms[best], of_float.front() / of_float[best]};
  }

  SpeedGate decided(size_t best) const {
    const Times times = times_of(best == 0 ? std::vector<size_t>{0} : std::vector<size_t>{0, best}, to_decide);
    SpeedGate out = decide_speed(times, *job_.speed_gate, forms_[best].in_float.size());
    if (out.gated < out.planned) out.regions = regions_of(graph_->model, forms_[best].in_float);
    return out;
  }

  // One thread decides, as float gains more of a second one. Where that makes the model slower than float on all cores, what
  // operators cost there says which others would better stay in float, and what is slower on neither is taken.
  void look_at_all_cores(SpeedGate& gate, std::set<std::string>& in_float) {
    const int threads = static_cast<int>(cores());
    if (threads == 1) return;
    const size_t now = std::ranges::find(forms_, in_float, &Form::in_float) - forms_.begin();
    const runtime::Ratio of_float = [&] {
      const Times times = times_of(std::vector<size_t>{now}, on_all_cores(seconds_on_all));
      return runtime::ratio_of(times[1], times[0]);
    }();
    gate.on_all = of_float.median;
    tell(log_, Level::debug, "on all cores: " + in_digits(of_float.median, 3) + " × the float model's time");
    slower_on_all_ = is_slower(of_float, *job_.speed_gate);
    if (!slower_on_all_ || !is_early()) return;
    gate.told += "; on all " + std::to_string(threads) + " cores it takes " + in_digits(of_float.median, 3) + " ×";
    add_cheapest(costs_of(forms_[now], threads));
    std::vector<size_t> forms;
    for (size_t i = 0; i < forms_.size(); i++) {
      auto found = planned(words_, forms_[i].in_float);
      if (forms_[i].model.nodes.empty()) forms_[i].model = variants_.build(found->config, found->plan).model;
      forms.push_back(i);
    }
    const Times one = times_of(forms, to_choose), all = times_of(forms, on_all_cores(seconds_on_all));
    std::vector<double> on_one, on_all;
    for (size_t i = 1; i < one.size(); i++) {
      on_one.push_back(runtime::ratio_of(one[i], one[0]).median);
      on_all.push_back(runtime::ratio_of(all[i], all[0]).median);
    }
    const auto found = fast_on_both(on_one, on_all, now, *job_.speed_gate);
    if (!found || runtime::ratio_of(all[*found + 1], all[now + 1]).high >= 1) return;
    slower_on_all_ = false;
    in_float = forms_[*found].in_float;
    gate.regions = regions_of(graph_->model, in_float);
    gate.gated = on_one[*found];
    gate.on_all = on_all[*found];
    gate.told += ", and with " + std::to_string(in_float.size()) + " in float " + in_digits(on_all[*found], 3) + " × there and " +
                 in_digits(on_one[*found], 3) + " × on one: these stay in float";
  }

  const Job& job_;
  const PreparedJob& prepared_;
  Variants& variants_;
  const Log& log_;
  const double float_seconds_;
  const Timers& timers_;
  const std::optional<double> limit_;
  const double share_;
  const Stopwatch watch_;
  Json words_;
  std::shared_ptr<const Variant> graph_;
  quant::Plan plan_;
  std::set<std::string> slow_;  // operators whose integer kernels are known to be slower
  bool slower_on_all_ = false;  // than float: what was decided, with as many threads as there are cores
  std::set<std::string> hashes_;
  std::vector<Form> forms_;  // the first: as planned
};

}  // namespace

std::optional<SpeedGate> measure_speed(const Job& job, const PreparedJob& prepared, Variants& variants, const Log& log,
                                       double float_seconds, const Timers& timers) {
  if (!job.speed_gate || !prepared.target->timed_here() || !job.devices.front().is_cpu()) return std::nullopt;
  tell(log, Level::info, "measuring which operators are faster in float");
  const Stopwatch watch;
  std::optional<SpeedGate> out;
  try {
    Measuring measuring(job, prepared, variants, log, float_seconds, timers);
    if (!measuring.has_pairs())
      return SpeedGate{.told =
                           "nothing is measured: the first configuration quantizes single operators, without pairs between them"};
    out = measuring.result();
  } catch (const Error& e) {  // trials may do without it, or fail with the same words
    return SpeedGate{.regions = {}, .told = std::string("nothing is measured: ") + e.what()};
  }
  tell(log, Level::debug, "speed was measured in " + in_digits(watch.seconds(), 3) + " s");
  return out;
}

}  // namespace quasar::tune
