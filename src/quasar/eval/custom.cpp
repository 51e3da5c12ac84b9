#include "quasar/eval/custom.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "quasar/base/file.hpp"
#include "quasar/base/json.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::eval {
namespace {

namespace fs = std::filesystem;

Direction direction_of(const Json& word, const std::string& key) {
  if (word.is_string() && normalized(word.get<std::string>()) == "maximize") return Direction::maximize;
  if (word.is_string() && normalized(word.get<std::string>()) == "minimize") return Direction::minimize;
  throw Error("search_evaluator: " + key + " is " + word.dump() + ", but must be maximize or minimize");
}

void check_name(const std::string& name, const std::vector<OwnMetric>& before) {
  if (name.empty()) throw Error("search_evaluator: a metric's name is empty");
  for (const std::string& built_in : metrics::table().names()) {  // their other names ("accuracy") are free
    if (normalized(name) == normalized(built_in))
      throw Error("search_evaluator: '" + name + "' is a metric of Quasar's own; give yours another name");
  }
  for (const char* cost : {"bytes", "latency", "relative_latency", "peak_memory"}) {
    if (normalized(name) == normalized(cost))
      throw Error("search_evaluator: '" + name + "' is what Quasar itself measures; give your metric another name");
  }
  if (std::ranges::any_of(before, [&](const OwnMetric& other) { return other.name == name; }))
    throw Error("search_evaluator: metrics names '" + name + "' twice");
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t start = text.find_last_of('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - (start == std::string::npos ? 0 : start + 1) + 1);
}

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || text.find_first_not_of(" \t\r", static_cast<size_t>(end - text.c_str())) != std::string::npos)
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<Tensor> stacked(const std::vector<Tensor>& values) {
  if (values.empty()) return std::nullopt;
  const Tensor& first = values.front();
  std::vector<std::byte> bytes;
  bytes.reserve(first.bytes().size() * values.size());
  for (const Tensor& value : values) {
    if (value.type() != first.type() || value.shape() != first.shape()) return std::nullopt;
    bytes.insert(bytes.end(), value.bytes().begin(), value.bytes().end());
  }
  Shape shape = first.shape();
  const auto count = static_cast<int64_t>(values.size());
  if (!shape.empty() && shape[0] == 1) {
    shape[0] = count;  // the batch axis
  } else {
    shape.insert(shape.begin(), count);
  }
  return Tensor::copy(first.type(), std::move(shape), bytes.data(), bytes.size());
}

Subject::Subject(const graph::Model& model, const Surroundings& surroundings, fs::path file, std::function<Outputs()> run)
    : model_(model), surroundings_(surroundings), run_(std::move(run)), file_(std::move(file)) {}

const Outputs& Subject::outputs() const {
  if (!outputs_) outputs_ = run_();
  return *outputs_;
}

const fs::path& Subject::file() const {
  if (file_.empty()) {
    const fs::path& folder = surroundings_.candidates;
    own_ = folder.empty() ? std::make_unique<TemporaryFolder>() : std::make_unique<TemporaryFolder>(folder);
    graph::save(model_, own_->path() / "model.onnx");
    file_ = own_->path() / "model.onnx";
  }
  return file_;
}

std::vector<OptionSpec> with_own_metrics(std::vector<OptionSpec> own) {
  own.push_back({.name = "metrics",
                 .fallback = nullptr,
                 .help = "what it gives, the objective first: {map50: maximize, npu_ms: minimize} or a list of names "
                         "(default: one metric, score)"});
  own.push_back({.name = "direction", .fallback = nullptr, .help = "maximize (default) or minimize"});
  return own;
}

std::vector<OwnMetric> own_metrics(const Options& options) {
  const Json words = options.has("metrics") ? options.json("metrics") : Json::array({"score"});
  const bool given = options.has("direction");
  const Direction direction = given ? direction_of(options.json("direction"), "direction") : Direction::maximize;
  std::vector<OwnMetric> out;
  const auto add = [&](const std::string& name, Direction better) {
    check_name(name, out);
    out.push_back({name, better});
  };
  if (words.is_object()) {
    for (const auto& [name, word] : words.items()) add(name, direction_of(word, "metrics." + name));
  } else if (words.is_array()) {
    for (const Json& name : words) {
      if (!name.is_string()) throw Error("search_evaluator: metrics holds " + name.dump() + ", which is no name");
      add(name.get<std::string>(), direction);
    }
  } else {
    throw Error("search_evaluator: metrics is " + words.dump() + ", but must be a list of names or {name: maximize | minimize}");
  }
  if (out.empty()) throw Error("search_evaluator: metrics is empty, but the first one is what the search is about");
  if (given && out.front().direction != direction)
    throw Error("search_evaluator: direction contradicts what metrics says of " + out.front().name + "; leave it out");
  return out;
}

std::shared_ptr<const CustomEvaluator> custom_evaluator(const Json& words, const std::string& direction) {
  if (words.is_null()) return nullptr;
  const auto wrong = [&] {
    return Error("search_evaluator is " + words.dump() + ", but must be the name of a metric, or a mapping with exactly one of " +
                 joined(evaluators::table().names()));
  };
  if (!words.is_object()) throw wrong();
  std::string name;
  Json options = words;
  for (const auto& [key, value] : words.items()) {
    const auto* known = evaluators::table().try_find(key);
    if (known == nullptr) continue;
    if (!name.empty()) throw wrong();
    name = known->first;
  }
  if (name.empty()) throw wrong();
  if (!direction.empty() && !options.contains("direction")) options["direction"] = direction;
  return evaluators::table().make(name, options);
}

void check_values(const CustomEvaluator& evaluator, const Values& values) {
  for (const auto& [name, direction] : evaluator.metrics()) {
    const auto found = values.find(name);
    if (found == values.end()) {
      std::vector<std::string> names;
      for (const auto& [given, value] : values) names.push_back(given);
      throw EvaluatorFailed("the evaluator gave no value for '" + name + "'" +
                            (names.empty() ? "" : ", but for " + joined(names)) +
                            "; what it gives is declared by search_evaluator.metrics");
    }
    if (!std::isfinite(found->second)) throw EvaluatorFailed("the evaluator's " + name + " is not finite");
  }
}

Values parse_values(const std::string& text, const CustomEvaluator& evaluator) {
  const std::string line = last_line(text);
  if (const auto number = number_of(line)) return {{evaluator.metrics().front().name, *number}};
  Json found = json_in(line).value_or(Json());
  if (!found.is_object()) found = json_in(text).value_or(Json());
  if (!found.is_object()) {
    throw EvaluatorFailed("the evaluator's last line is '" + line.substr(0, 200) +
                          "', but must be a number or a JSON object such as {\"" + evaluator.metrics().front().name + "\": 0.5}");
  }
  Values out;
  for (const auto& [name, value] : found.items()) {
    if (value.is_number()) out[name] = value.get<double>();
  }
  return out;
}

std::string tail_of(const fs::path& file, size_t most) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const auto size = static_cast<size_t>(in.tellg());
  in.seekg(static_cast<std::streamoff>(size > most ? size - most : 0));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (size <= most) return text;
  const size_t line = text.find('\n');
  return "…\n" + (line == std::string::npos ? text : text.substr(line + 1));
}

}  // namespace quasar::eval
