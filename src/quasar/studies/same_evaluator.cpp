#include "quasar/studies/same_evaluator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/evaluator_files.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

constexpr double noise = 1e-3;  // relative: kernels differ by processor

// As opposed to what it reads and writes, which may be large, or another file each time.
bool is_program(const fs::path& file) {
  static constexpr std::array suffixes{".py", ".sh", ".so", ".pl", ".rb", ".js", ".jl", ".R", ".lua", ".dylib", ".dll"};
  constexpr uintmax_t largest = 64 << 20;
  constexpr auto runs = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  std::error_code code;
  const auto size = fs::file_size(file, code);
  if (code || size > largest) return false;
  return (fs::status(file, code).permissions() & runs) != fs::perms::none ||
         std::ranges::find(suffixes, file.extension().string()) != suffixes.end();
}

// What cannot be read (a program that may only be run) is not compared.
Json hashes_of(const Json& words, const fs::path& base) {
  Json out = Json::object();
  for (const auto& [name, file] : evaluator_files(words, base)) {
    if (!is_program(file)) continue;
    try {
      out[name] = hash_of_file(file);
    } catch (const Error&) {
    }
  }
  return out;
}

std::vector<std::string> other_files(const Json& known, const Json& now) {
  std::set<std::string> names;
  for (const Json* files : {&known, &now}) {
    for (const auto& [name, hash] : files->items()) names.insert(name);
  }
  std::erase_if(names, [&](const std::string& name) { return known.value(name, Json()) == now.value(name, Json()); });
  return {names.begin(), names.end()};
}

bool is_comparable(const Json& facts) {
  return facts.is_object() && facts.value("metric", Json()).is_string() && facts.value("value", Json()).is_number() &&
         facts.value("files", Json()).is_object();
}

}  // namespace

Json evaluator_facts(const Job& job, const eval::Scores& reference) {
  if (!job.aim.evaluator) return nullptr;
  const std::string metric = job.aim.evaluator->metrics().front().name;
  const auto score = reference.find(metric);
  if (score == reference.end()) return nullptr;
  Json programs = Json::object();
  const Json words = job.words.value("search_evaluator", Json::object());
  for (const auto& [key, value] : words.items()) {
    if (eval::evaluators::table().try_find(key) != nullptr) programs[key] = value;
  }
  return {{"metric", metric}, {"value", score->second.value}, {"files", hashes_of(programs, job.base)}};
}

OtherEvaluator other_evaluator(const Json& known, const Json& now) {
  if (!is_comparable(known) || !is_comparable(now) || known["metric"] != now["metric"]) return {};
  const double there = known["value"].get<double>(), here = now["value"].get<double>();
  const bool scores = std::abs(there - here) > noise * std::max(std::abs(there), std::abs(here));
  const auto files = other_files(known["files"], now["files"]);
  std::string what;
  if (!files.empty())
    what = joined(files) + (files.size() == 1 ? " is another file" : " are other files") + (scores ? " and " : "");
  if (scores)
    what += "the float model's " + now["metric"].get<std::string>() + " is " + Json(here).dump() + " (there " +
            Json(there).dump() + ")";
  return {what, scores && !files.empty()};
}

}  // namespace quasar::tune
