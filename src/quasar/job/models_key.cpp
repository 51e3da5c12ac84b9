#include "quasar/job/models_key.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/graph/half_to_float.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/job/job.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

const std::string models_word = "models";

std::string path_in(const std::string& name, const Json& words) {
  const std::string key = models_word + "." + name;
  if (words.is_string()) return words.get<std::string>();
  if (!words.is_object())
    throw Error(key + " is " + words.dump() + ", but must be a path, or {path: FILE, inputs: {INPUT: MODEL.OUTPUT}}");
  const std::vector<std::string> known{"path", "inputs"};
  for (const auto& [word, value] : words.items()) {
    if (word != "path" && word != "inputs") throw Error("unknown key '" + key + "." + word + "'" + known_names(word, known));
  }
  const Json path = words.value("path", Json());
  if (!path.is_string() || path == "") throw Error(key + ".path is required: the file of the model");
  return path.get<std::string>();
}

std::map<std::string, std::optional<std::string>> inputs_in(const std::string& name, const Json& words) {
  std::map<std::string, std::optional<std::string>> out;
  const Json inputs = words.is_object() ? words.value("inputs", Json()) : Json();
  if (inputs.is_null()) return out;
  const std::string key = models_word + "." + name + ".inputs";
  if (!inputs.is_object()) throw Error(key + " is " + inputs.dump() + ", but must be a mapping {INPUT: MODEL.OUTPUT}");
  for (const auto& [input, from] : inputs.items()) {
    if (!from.is_null() && !from.is_string())
      throw Error(key + "." + input + " is " + from.dump() + ", but must be MODEL.OUTPUT, or null where samples hold it");
    out[input] = from.is_null() ? std::nullopt : std::optional(from.get<std::string>());
  }
  return out;
}

void check_models(const Json& words) {
  if (!words.is_object() || words.empty())
    throw Error(models_word + " is " + words.dump() +
                ", but must be a mapping such as {encoder: {path: encoder.onnx}, decoder: "
                "{path: decoder.onnx}}");
}

bool is_configuration(const fs::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

// The value of the key in a configuration file.
Json models_in(const fs::path& file) {
  const Json words = read_words(file);
  if (words.is_object()) {
    const Json named = canonical_keys(words);
    if (named.contains(models_word)) return named.at(models_word);
    if (named.contains("model_input"))
      throw Error(file.string() + " is a configuration of one model; name that: " + named.at("model_input").dump());
  }
  throw Error(file.string() + " is no model: a configuration stands for one where it has the key models");
}

}  // namespace

std::vector<fs::path> files_of_models(const Json& words, const fs::path& base) {
  check_models(words);
  std::vector<fs::path> out;
  for (const auto& [name, model] : words.items()) out.push_back(base / path_in(name, model));
  return out;
}

graph::Model joined_models(const Json& words, const fs::path& base) {
  check_models(words);
  std::vector<graph::Member> members;
  for (const auto& [name, model] : words.items()) {
    const fs::path file = base / path_in(name, model);
    members.push_back({.name = name, .file = file, .model = {}, .inputs = inputs_in(name, model)});
  }
  for (auto& member : members) member.model = graph::load(member.file);
  return graph::join(members);
}

Json with_rooted_models(Json words, const fs::path& folder) {
  if (!words.is_object()) return words;
  for (auto& [name, model] : words.items()) {
    Json* path = model.is_object() && model.contains("path") ? &model["path"] : &model;
    if (path->is_string()) *path = fs::absolute(folder / path->get<std::string>()).lexically_normal().string();
  }
  return words;
}

GivenModel given_model(const fs::path& file) {
  if (!is_configuration(file)) return {.model = graph::load(file), .files = {file}, .bytes = graph::bytes_on_disk(file)};
  const fs::path base = fs::absolute(file).parent_path();
  const Json words = models_in(file);
  GivenModel out{.model = joined_models(words, base), .files = files_of_models(words, base)};
  for (const auto& one : out.files) out.bytes += graph::bytes_on_disk(one);
  return out;
}

graph::Model reference_for(const graph::Model& model, const std::filesystem::path& file) {
  graph::Model reference = given_model(file).model;
  const bool alike = std::ranges::equal(reference.inputs, model.inputs, {}, &graph::Value::type, &graph::Value::type);
  return alike ? reference : graph::half_to_float(std::move(reference));
}

std::vector<fs::path> files_of_given(const fs::path& file) {
  if (!is_configuration(file)) return {file};
  std::vector<fs::path> out{file};
  try {
    for (auto& one : files_of_models(models_in(file), fs::absolute(file).parent_path())) out.push_back(std::move(one));
  } catch (const Error&) {  // given_model() says it
  }
  return out;
}

std::vector<std::string> piece_files_of_given(const fs::path& file) {
  if (!is_configuration(file)) return {};
  std::vector<graph::Part> parts;
  try {
    const Json words = models_in(file);
    check_models(words);
    for (const auto& [name, model] : words.items())
      parts.push_back({.name = name, .file = fs::path(path_in(name, model)).filename().string(), .inputs = {}, .outputs = {}});
  } catch (const Error&) {  // given_model() says it
    return {};
  }
  return graph::files_of(parts);
}

}  // namespace quasar::tune
