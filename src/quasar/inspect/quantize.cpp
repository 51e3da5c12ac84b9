#include "quasar/inspect/quantize.hpp"

#include <algorithm>
#include <functional>

#include "quasar/base/files/special_files.hpp"
#include "quasar/base/names.hpp"
#include "quasar/data/described.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/job/v1_configuration.hpp"
#include "quasar/quant/config/idle_keys.hpp"
#include "quasar/quant/config/option_keys.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/quant/config/usual_target.hpp"
#include "quasar/quant/encodings.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/stats/shapes.hpp"
#include "quasar/trial/nothing_quantized.hpp"
#include "quasar/trial/trial.hpp"
#include "quasar/trial/variants.hpp"
#include "quasar/tune/open_data.hpp"

namespace quasar::tune {
namespace {

struct Means {
  const quant::Config& config;
  const quant::Target& target;
  std::map<std::string, stats::Given> given = {};
};

using Planning = std::function<quant::Plan(const quant::Config&)>;

// Options that are given, are not what would hold anyway, and change nothing in the plan of this model.
std::vector<std::string> notes_without_effect(const Means& means, const quant::Plan& plan, const Planning& plan_of) {
  std::vector<std::string> notes;
  const std::string hash = quant::hash_of(plan);
  const Json given = quant::option_words(means.config.selection, means.config.switches, means.config.max_loop_num);
  for (const auto& [key, value] : given.items()) {
    Json words = to_json(means.config);
    words.erase(key);
    try {
      const quant::Config without = quant::parse_config(words);
      const bool npu = means.target.shifts() || quant::is_on(means.config.switches, "EnableNPUCnn", false);
      if (quant::find_switch(key) != nullptr && quant::is_on(without.switches, key, npu) == value) continue;
      if (quant::hash_of(plan_of(without)) == hash)
        notes.push_back(key + " has no effect: this model has nothing that it changes, with the other options as they are");
    } catch (const Error&) {  // it is what makes the rest possible
    }
  }
  return notes;
}

// Says what looks at them, where ranges are given.
[[noreturn]] void need_samples(const quant::Config& config) {
  const std::string needs = "this configuration needs calibration samples (--calib): ";
  if (config.rounding.optimizes()) throw Error(needs + "algorithms: " + config.rounding.method + " rounds weights by them");
  std::vector<std::string> keys;
  const Json words = quant::to_json(config.transforms);
  for (const auto& [key, value] : words.items()) {
    if (value == true) keys.push_back(key);
  }
  if (keys.empty()) throw Error(needs + "ranges are observed, or rounding is optimized");
  throw Error(needs + joined(keys) + (keys.size() == 1 ? " looks" : " look") + " at them, also where ranges are given (--set " +
              keys.front() + "=false leaves it out)");
}

// nullptr: none are given, nor known and needed.
data::DatasetPtr samples_for(const QuantizeOptions& options, const quant::Config& config, const graph::Model& model,
                             const std::shared_ptr<data::NegativeIds>& negative) {
  if (!options.calibration.is_null()) return open_data(options.calibration, model, {}, negative);
  const bool wanted = options.trial && options.ranges.is_null() && !quant::needs_no_samples(config);
  return wanted ? options.trial->samples(model.inputs) : nullptr;
}

// `names`: between the model as it came and this one.
Quantized without_samples(const graph::Model& model, const Means& means, const quant::NodeNames& names) {
  const bool chosen = !means.given.empty() && means.config.transforms.empty() && !means.config.rounding.optimizes();
  if (!chosen && !quant::needs_no_samples(means.config)) need_samples(means.config);
  stats::Statistics seen;
  if (chosen) {
    for (const auto& [name, shape] : stats::known_shapes(model)) seen[name].shape = shape;
    for (const auto& name : quant::observed_values(model)) seen.try_emplace(name);  // of bodies no shape is known
  }
  for (const auto& [name, given] : means.given) {
    seen[name].given = given;
    if (given.range) seen[name].range = *given.range;
  }
  const auto plan_of = [&](const quant::Config& config) {
    return quant::resolve(model, seen, names.resolved(config), means.target);
  };
  quant::Plan plan = plan_of(means.config);
  require_quantized(plan, {model, means.config});
  if (std::string little = hardly_quantized(plan, model, seen); !little.empty()) plan.notes.push_back(std::move(little));
  std::ranges::move(names.notes(means.config), std::back_inserter(plan.notes));
  for (auto& note : notes_without_effect(means, plan, plan_of)) plan.notes.push_back(std::move(note));
  for (const auto& [value, range] : plan.ranges) {
    if (!means.given.contains(value))
      throw Error("ranges leave out '" + value + "': give its range, or calibration samples for it");
  }
  return {.model = quant::written(model, plan), .plan = plan, .config = means.config, .graph = model};
}

// What the target's checker finds wrong, of a processor that shifts or another one: what is excluded, or came in codes, may stand
// in the way of its rules. A note for each rule, by the first of its nodes.
void note_broken_rules(Quantized& done, const quant::Target& target, const std::string& name) {
  struct Broken {
    std::string rule, node, what;
    size_t nodes = 1;
  };
  std::vector<Broken> all;
  std::vector<std::string>& notes = done.plan.notes;
  const auto add = [&](const std::string& rule, const std::string& node, const std::string& what) {
    const std::string known = "rule " + rule + " could not be kept at " + node + ": ";
    if (std::ranges::any_of(notes, [&](const std::string& note) { return note.starts_with(known); })) return;
    const auto same = [&](const Broken& one) { return one.rule == rule && (target.shifts() || one.what == what); };
    const auto before = std::ranges::find_if(all, same);
    if (before == all.end()) {
      all.push_back({rule, node, what});
    } else {
      before->nodes++;
    }
  };
  if (done.plan.shifts) {
    for (const auto& violation : quant::violations(done.model)) add(violation.rule, violation.node, violation.what);
  } else if (target.checks_pairs() && !graph::is_large(done.graph)) {
    for (const auto& [node, fault] : target.faults(done.model, runtime::value_types(done.model)))
      add(fault.rule, node, fault.what);
  }
  for (const Broken& one : all) {
    const std::string more = one.nodes == 1 ? "" : " and " + std::to_string(one.nodes - 1) + " more";
    const std::string of = done.plan.shifts ? "" : " of target " + name;
    notes.push_back("rule " + one.rule + of + " could not be kept at " + one.node + more + ": " + one.what);
  }
}

// A search measures it (speed_gate); here the user may not know.
void note_slow_kernels(Quantized& done, const quant::Target& target, const std::string& name) {
  constexpr size_t most = 4;
  std::vector<std::string> slow;
  for (const auto& node : done.graph.nodes) {
    const auto planned = done.plan.nodes.find(node.name);
    if (planned == done.plan.nodes.end() || planned->second.form != quant::NodeForm::pairs) continue;
    const auto value = done.plan.values.find(node.outputs.front());
    if (value != done.plan.values.end() && quant::is_byte(value->second.type) && target.is_slower_in_codes(node, done.graph))
      slow.push_back(node.name);
  }
  if (slow.empty()) return;
  const size_t count = slow.size(), more = count > most ? count - most : 0;
  slow.resize(count - more);
  done.plan.notes.push_back("on target " + name + " kernels of " + std::to_string(count) +
                            (count == 1 ? " operator" : " operators") + " are known to take longer in integers than in float: " +
                            joined(slow) + (more > 0 ? " and " + std::to_string(more) + " more" : "") +
                            " (the key exclude leaves them in float; `quasar auto` and searches with speed_gate measure it)");
}

void add_notes(Quantized& done, const QuantizeOptions& options, const quant::Target& target,
               const std::map<std::string, stats::Given>& ranges) {
  const Json& words = options.words;
  std::vector<std::string>& notes = done.plan.notes;
  note_broken_rules(done, target, options.target);
  for (auto& note : quant::notes_on_inert_options(words)) notes.push_back(std::move(note));
  for (auto& note : quant::notes_on_idle_keys(words, done.config)) notes.push_back(std::move(note));
  if (options.ranges.is_null()) return;
  for (auto& note : quant::notes_on_ranges(options.ranges, ranges, done.plan, done.config)) notes.push_back(std::move(note));
}

// The values that a file of ranges may name: also those that transforms add, for which samples are looked at only where the file
// names others than the model's. Without samples no transform runs, and what then is missing is said before.
std::vector<std::string> values_to_name(const QuantizeOptions& options, const quant::Config& config, const graph::Model& original,
                                        const graph::Model& model) {
  std::vector<std::string> known = quant::observed_values(model);
  const bool changed = !config.transforms.empty() || !config.optimize_model;
  if (!changed || !quant::names_others(options.ranges, known)) return known;
  const auto add = [&](const graph::Model& other) {
    for (auto& value : quant::observed_values(other)) known.push_back(std::move(value));
  };
  if (options.calibration.is_null()) {
    if (!quant::needs_no_samples(config) && !config.transforms.empty()) need_samples(config);
    if (!config.optimize_model) add(runtime::unoptimized(original));
    return known;
  }
  CalibrationNeeds needs;
  needs.add(config);
  Variants variants(original, model, data::open(options.calibration, model.inputs), needs);
  add(variants.graph_of(config)->model);
  return known;
}

// Names that clean-up took away are told as such.
void check_not_removed(const Json& file, const std::vector<std::string>& known, const graph::Model& original) {
  if (!quant::names_others(file, known)) return;
  const std::vector<std::string> came = quant::observed_values(runtime::unoptimized(original));
  for (const auto& [name, entry] : file.at("tensors").items()) {
    const auto is = [&name = name](const std::string& value) { return value == name; };
    if (std::ranges::any_of(known, is) || std::ranges::none_of(came, is)) continue;
    throw Error("ranges: clean-up removed the value '" + name +
                "' before quantization (what wrote or read it was folded into another node); 'OptimizeModel: false' keeps it");
  }
}

Quantized quantize_as_said(const QuantizeOptions& given) {
  QuantizeOptions options = given;
  const quant::Config config = quant::parse_config(options.words);
  const auto target = quant::targets::table().make(options.target);
  const graph::Model original = given_model(options.model).model;
  const graph::Model model = runtime::prepare(original);
  quant::check_taken(*target, config);
  quant::check_shapes(*target, config, model.inputs);
  quant::check_tensors(*target, config, model);
  CalibrationNeeds needs;
  needs.add(config);
  std::vector<std::string> notes;
  if (std::string note = quant::note_on_codes(model); !note.empty()) notes.push_back(std::move(note));
  if (!options.ranges.is_null()) {
    quant::ForeignRanges read = quant::read_foreign(options.ranges);
    options.ranges = read.file;
    const std::vector<std::string> known = values_to_name(options, config, original, model);
    quant::keep_known(read, known);
    options.ranges = std::move(read.file);
    std::ranges::move(read.notes, std::back_inserter(notes));
    check_not_removed(options.ranges, known, original);
    needs.given = quant::parse_ranges(options.ranges, known, config.activation);
  }
  const auto negative_ids = std::make_shared<data::NegativeIds>();
  const data::DatasetPtr samples = samples_for(options, config, model, negative_ids);
  if (samples == nullptr) {
    const graph::Model from = config.optimize_model ? model : runtime::unoptimized(original);
    Quantized done = without_samples(from, {config, *target, needs.given}, quant::NodeNames(original, from));
    add_notes(done, options, *target, needs.given);
    note_slow_kernels(done, *target, options.target);
    std::ranges::move(notes, std::back_inserter(done.plan.notes));
    return done;
  }
  Variants variants(original, model, samples, needs, {.rounding = {.once = true}, .progress = options.progress});
  quant::Plan plan = variants.plan(config, *target);
  require_quantized(plan, {model, config});
  std::string little = hardly_quantized(plan, variants.graph_of(config)->model, variants.seen(config));
  if (!little.empty()) plan.notes.push_back(std::move(little));
  const auto plan_of = [&](const quant::Config& other) { return variants.plan(other, *target); };
  for (auto& note : notes_without_effect({config, *target}, plan, plan_of)) plan.notes.push_back(std::move(note));
  Built built = variants.build(config, plan);
  Quantized done{std::move(built.model), std::move(plan), config, std::move(built.rounding), variants.graph_of(config)->model};
  const std::string other = options.trial && !quant::needs_no_samples(config) ? options.trial->note_on(*samples) : "";
  if (!other.empty()) done.plan.notes.insert(done.plan.notes.begin(), other);
  add_notes(done, options, *target, needs.given);
  if (!options.trial) note_slow_kernels(done, *target, options.target);
  std::ranges::move(negative_ids->news(), std::back_inserter(notes));
  std::ranges::move(data::news_of_arrays(options.calibration, model.inputs), std::back_inserter(notes));
  std::ranges::move(notes, std::back_inserter(done.plan.notes));
  return done;
}

// Where the configuration names the target that it was found for, that is the target, unless another is asked for.
std::vector<std::string> settle_target(QuantizeOptions& options) {
  Json own;
  if (options.words.is_object() && options.words.contains("target")) {
    own = options.words["target"];
    options.words.erase("target");
  }
  if (!own.is_null() && !own.is_string()) throw Error("target is " + own.dump() + ", but must be a name");
  const std::string named = own.is_null() ? std::string() : quant::targets::table().resolve(own.get<std::string>());
  if (options.target.empty()) {
    const quant::UsualTarget usual = named.empty() ? quant::usual_target(options.words) : quant::UsualTarget{.name = named};
    options.target = usual.name;
    if (!usual.told.empty()) return {usual.told};
  } else if (!named.empty() && quant::targets::table().resolve(options.target) != named) {
    return {"target is " + options.target + ", but the configuration was found for " + named +
            ": the model is another one than the search's"};
  }
  return {};
}

}  // namespace

Quantized quantize(const QuantizeOptions& given) {
  QuantizeOptions options = given;
  if (options.trial) options.trial->check_model(options.model);
  PlainWords plain = plain_words(given.words);
  options.words = std::move(plain.words);
  for (auto& note : settle_target(options)) plain.notes.push_back(std::move(note));
  Quantized done = quantize_as_said(options);
  done.plan.notes.insert(done.plan.notes.begin(), plain.notes.begin(), plain.notes.end());
  return done;
}

namespace {

constexpr size_t most_to_optimize = 10000;  // nodes

// Nobody should find out later. To open a large model takes more memory than to quantize it does. ONNX Runtime's optimizer takes
// time that grows with the square of the number of nodes: of long models only types and shapes are looked at.
void expect_opens(const Quantized& result, const std::filesystem::path& file) {
  if (graph::is_large(result.graph)) return;
  try {
    const auto how = result.model.nodes.size() > most_to_optimize ? runtime::Optimization::none : runtime::Optimization::all;
    const runtime::Session opened(file, {.optimization = how, .runs = false});
  } catch (const Error& e) {
    if (e.blame() != Blame::user) throw;
    throw Error("'" + file.string() + "' is written, but of no use: " + e.what() +
                    "; this is a fault of Quasar's, whose developers would like to see the model",
                e.blame());
  }
}

}  // namespace

std::vector<PieceFacts> write_model(const Quantized& result, const std::filesystem::path& file) {
  if (!is_special_file(file)) {
    graph::save(result.model, file, external(result.config));
    expect_opens(result, file);
    return write_pieces(result.graph, result.model, file, external(result.config));
  }
  if (external(result.config) == graph::ExternalData::always)
    throw Error("cannot write '" + file.string() +
                "': it is no file, beside which external data could stand (use_external_data_format)");
  write_output(file, graph::to_bytes(result.model));
  return {};
}

}  // namespace quasar::tune
