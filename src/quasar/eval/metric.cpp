#include "quasar/eval/metric.hpp"

#include <algorithm>

#include "quasar/base/yaml.hpp"

namespace quasar::eval {
namespace {

struct Written {
  std::string name;
  Json options = Json::object();
};

// "topk(k=3)" -> topk, {k: 3}. Values are YAML's: numbers, true, texts, lists.
Written read_text(const std::string& text, const std::string& owner) {
  const size_t open = text.find('(');
  if (open == std::string::npos) return {text};
  if (!text.ends_with(')')) throw Error(owner + ": '" + text + "' must be a name, or NAME(OPTION=VALUE,...)");
  Written out{text.substr(0, open)};
  std::string rest = text.substr(open + 1, text.size() - open - 2);
  for (size_t depth = 0, begin = 0, i = 0; i <= rest.size(); ++i) {
    if (i < rest.size() && (rest[i] == '[' || rest[i] == '{')) ++depth;
    if (i < rest.size() && (rest[i] == ']' || rest[i] == '}') && depth > 0) --depth;
    if (i < rest.size() && (rest[i] != ',' || depth > 0)) continue;
    const std::string item = rest.substr(begin, i - begin);
    const size_t equal = item.find('=');
    if (equal == std::string::npos || equal == 0) throw Error(owner + ": '" + text + "': '" + item + "' must be OPTION=VALUE");
    out.options[item.substr(0, equal)] = parse_yaml(item.substr(equal + 1), owner + " " + text);
    begin = i + 1;
  }
  return out;
}

Written read(const Json& words, const std::string& owner) {
  if (words.is_string()) return read_text(words.get<std::string>(), owner);
  if (!words.is_object() || !words.value("name", Json()).is_string())
    throw Error(owner + ": " + words.dump() + " is not the name of a metric, nor {name: ..., option: value}");
  Written out = read_text(words["name"].get<std::string>(), owner);
  for (const auto& [name, value] : words.items()) {
    if (name != "name") out.options[name] = value;
  }
  return out;
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string metric_text(const Json& words, const std::string& owner) {
  const Written written = read(words, owner);
  const auto& [name, entry] = metrics::table().find(written.name);
  const Options options(entry.options, written.options, "metric " + name);
  entry.make(options);  // checks the values
  std::string inside;
  for (const auto& option : entry.options) {
    if (!options.has(option.name) || options.json(option.name) == option.fallback) continue;
    inside += (inside.empty() ? "" : ",") + option.name + "=" + value_text(options.json(option.name));
  }
  return inside.empty() ? name : name + "(" + inside + ")";
}

std::unique_ptr<Metric> make_metric(const std::string& text) {
  const Written written = read_text(text, "metric");
  return metrics::table().make(written.name, written.options);
}

std::vector<std::string> options_left_out(const std::string& metric, const std::string& suggested) {
  const Written own = read_text(metric, "metric"), other = read_text(suggested, "metric");
  std::vector<std::string> out;
  for (const auto& option : metrics::table().find(own.name).second.options) {
    if (option.fallback.is_null() && other.options.contains(option.name) && !own.options.contains(option.name))
      out.push_back(option.name + "=" + value_text(other.options[option.name]));
  }
  return out;
}

bool is_metric(const std::string& text) {
  return metrics::table().try_find(text.substr(0, text.find('('))) != nullptr;
}

bool is_metric_in_results(const std::string& text) {
  const std::string name = text.substr(0, text.find('('));
  const auto* item = metrics::table().try_find(name);
  return item != nullptr && item->first == name;
}

}  // namespace quasar::eval
