#include "quasar/studies/comparable.hpp"

#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/data/annotations.hpp"
#include "quasar/data/overlap.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/studies/attributes.hpp"

namespace quasar::tune {
namespace {

const char* const labelling = "labelling of evaluation samples";

// What a study's values mean: the metric's name, or all goals where there are more.
Json metric_of(const Goals& goals) {
  if (goals.objectives.size() == 1 && goals.constraints.empty()) return goals.objectives.front().metric;
  return to_json(goals);
}

std::string hash_of_bytes(const Tensor& tensor) {
  return to_string(tensor.shape()) + hash_of(tensor.bytes());
}

// The first, the middle and the last: all that earlier versions looked at.
std::set<size_t> looked_at(const data::Dataset& samples) {
  return {0, samples.size() / 2, samples.size() - 1};
}

// A fingerprint as earlier versions made it, and behind it what they did not look at.
std::string longer(const std::string& before, const std::string& beyond) {
  return before + " " + beyond;
}

template <class HashOfOne>
std::string hash_of_all(const data::Dataset& samples, const HashOfOne& hash_of_one) {
  std::vector<std::string> each(samples.size());
  parallel_for(each.size(), 0, [&](size_t i) { each[i] = hash_of_one(i); });
  std::string text;
  for (const auto& one : each) text += one + " ";
  return hash_of(std::string_view(text));
}

// What is true of a sample besides its class; "": nothing is known.
std::string truth_of(const data::Dataset& samples, size_t i) {
  std::string text;
  for (const auto& box : data::boxes_of(samples, i).value_or(data::Boxes()))
    text += Json{box.left, box.top, box.right, box.bottom, box.label, box.crowd}.dump();
  if (const auto target = data::target_of(samples, i)) text += hash_of_bytes(*target);
  return text;
}

// Of the labels, where the samples have any: the scores of all metrics stand in one table.
Json truth_of(const data::Dataset& samples) {
  std::string text, beyond;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (const auto label = samples.label(i)) text += std::to_string(*label) + " ";
  }
  for (const size_t i : looked_at(samples)) beyond += truth_of(samples, i);
  if (text.empty() && beyond.empty()) return nullptr;
  const std::string three = hash_of(std::string_view(text + beyond));
  if (beyond.empty()) return three;
  return longer(three, hash_of_all(samples, [&](size_t i) { return hash_of(std::string_view(truth_of(samples, i))); }));
}

// What scores; how long it may take and what runs it does not matter.
Json evaluator_words(const Job& job) {
  if (!job.aim.evaluator) return nullptr;
  static const std::set<std::string> indifferent{"timeout", "interpreter", "metrics", "direction"};
  static const std::set<std::string> kinds{"command", "library", "python"};
  Json out = Json::object();
  const Json words = job.words.value("search_evaluator", Json::object());
  for (const auto& [key, value] : words.items()) {
    if (!indifferent.contains(key)) out[kinds.contains(key) ? key : "function"] = value;  // of Python: under a name of its own
  }
  for (const auto& [name, direction] : job.aim.evaluator->metrics())
    out["metrics"][name] = direction == Direction::maximize ? "maximize" : "minimize";
  return out;
}

// null: ONNX Runtime, whose versions agree; other libraries' values may change with their version.
Json runtime_of(const Job& job) {
  const runtime::Device& device = job.devices.front();
  if (device.library == runtime::Library::onnxruntime) return nullptr;
  const Json facts = runtime::facts_of(device);
  return facts["library"].get<std::string>() + " " + facts["version"].get<std::string>();
}

}  // namespace

bool is_fingerprint(const std::string& key) {
  return key == model_attribute || key.ends_with("samples");
}

std::string fingerprint(const std::filesystem::path& model) {
  const std::string own = hash_of_file(model);
  std::string files;
  for (const auto& [location, file] : graph::external_files_of(model))
    files += hash_of(std::string_view(location)) + hash_of_file(file);
  return files.empty() ? own : longer(own, hash_of(std::string_view(files)));
}

std::string fingerprint(const data::Dataset& samples) {
  std::string three = std::to_string(samples.size());
  for (const size_t i : looked_at(samples)) {
    for (const Tensor& tensor : samples.at(i)) three += hash_of_bytes(tensor);
  }
  return longer(hash_of(std::string_view(three)), hash_of_all(samples, [&](size_t i) { return data::content_of(samples, i); }));
}

bool is_same(const Json& known, const Json& now) {
  if (known == now) return true;
  return known.is_string() && now.is_string() && now.get<std::string>().starts_with(longer(known, ""));
}

Json goal_of(const Job& job, const data::Splits& samples) {
  Json goal{{model_attribute, fingerprint(job.model)},
            {"metric", metric_of(job.aim.goals)},
            {"target", job.target},
            {calibration_attribute, fingerprint(*samples.calibration)},
            {"set of evaluation samples", fingerprint(*samples.evaluation)},
            {labelling, truth_of(*samples.evaluation)},
            {"search_evaluator", evaluator_words(job)},
            {runtime_attribute, runtime_of(job)},
            {"decoder", job.aim.decoder},
            {"output_weights", job.aim.output_weights}};
  if (criterion_is_constraint(job.aim)) goal[criterion_attribute] = to_json(*job.aim.criterion);  // its excess is recorded
  return goal;
}

void check_comparable(const StudyKeys& place, const std::string& study, const Json& known, const Json& goal) {
  for (const auto& [key, value] : goal.items()) {
    if (key == criterion_attribute || !known.contains(key) || is_same(known.at(key), value)) continue;
    if (key == labelling && (known.at(key).is_null() || value.is_null())) continue;  // labels may be added
    const bool several = key == "metric" && (known.at(key).is_object() || value.is_object());
    const std::string what = several ? "set of objectives and constraints" : key;
    const std::string both = is_fingerprint(key) ? "" : " (" + known.at(key).dump() + ", now " + value.dump() + ")";
    throw Error(
        "the study '" + study + "' in " + without_password(storage_url(place)) + " was made with another " + what + both +
        ", so that values cannot be compared; use another output_dir or study_name (warm_start: its trials advise a new one)");
  }
}

}  // namespace quasar::tune
