#include "quasar/runtime/openvino_judge.hpp"

#include <cstdlib>
#include <iostream>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/base/system/terminal.hpp"
#include "quasar/runtime/openvino.hpp"
#include "quasar/runtime/openvino_library.hpp"

namespace quasar::runtime::openvino {
namespace {

constexpr double longest_answer_of_openvino = 600;  // seconds

// A shorter run is timed once more: while the process waited for the question, others had its caches.
constexpr double short_run = 0.005;  // seconds

std::string in_environment(const char* name) {
  const char* const found = std::getenv(name);
  return found == nullptr ? "" : found;
}

struct Starting {
  std::mutex guard;
  std::vector<std::string> arguments;
  std::map<std::vector<std::string>, JudgePool> pools;  // by arguments and the place of the library
};

Starting& starting() {
  static Starting one;
  return one;
}

// Of this process.
Json own_facts() {
  start();
  return {{"library", "OpenVINO"}, {"version", version()}, {"device", "CPU"}};
}

class OpenVinoJudge {
 public:
  Json answer(const Json& question) {
    if (question.contains("model")) return open(question);
    if (question.contains("timed")) return time(question);
    if (question.contains("inputs")) return run(question);
    return own_facts();
  }

 private:
  Json open(const Json& question) {
    model_.reset();
    if (question.contains("nodes")) {
      Json out{{"computes", Json::array()}};
      for (const auto& [operation, type] : types_computed_in(std::filesystem::path(question.at("model").get<std::string>())))
        out["computes"].push_back({operation, type});
      return out;
    }
    std::vector<graph::Value> inputs, outputs;
    for (const Json& input : question.at("inputs"))
      inputs.push_back({.name = input.at("name"), .type = static_cast<DataType>(input.at("type").get<int>())});
    for (const Json& output : question.at("outputs")) outputs.push_back({.name = output});
    model_ = std::make_unique<CompiledModel>(question.at("model").get<std::string>(), std::move(inputs), std::move(outputs));
    return Json::object();
  }

  static std::vector<Tensor> given(const Json& question) {
    const OpenFile file(question.at("from").get<std::string>(), OpenFile::For::reading);
    std::vector<Tensor> out;
    uint64_t at = 0;
    for (const Json& input : question.at("inputs")) {
      const auto type = static_cast<DataType>(input.at("type").get<int>());
      const auto shape = input.at("shape").get<Shape>();
      std::vector<std::byte> bytes(bytes_of(type, count_of(shape)));
      if (file.read_at(at, bytes) != static_cast<int64_t>(bytes.size())) throw Error("the file of its inputs is too short");
      at += bytes.size();
      out.push_back(Tensor::copy(type, shape, bytes.data(), bytes.size()));
    }
    return out;
  }

  Json run(const Json& question) const {
    if (model_ == nullptr) throw Error("no model is open");
    const std::vector<Tensor> found = model_->run(given(question));
    const OpenFile file(question.at("to").get<std::string>(), OpenFile::For::both);
    Json outputs = Json::array();
    uint64_t at = 0;
    for (const Tensor& tensor : found) {
      if (!file.write_at(at, tensor.bytes())) throw Error("its outputs cannot be written");
      at += tensor.bytes().size();
      outputs.push_back({{"type", static_cast<int>(tensor.type())}, {"shape", tensor.shape()}});
    }
    return {{"outputs", outputs}};
  }

  Json time(const Json& question) const {
    if (model_ == nullptr) throw Error("no model is open");
    const std::vector<Tensor> tensors = given(question);
    const auto seconds = [&] {
      const Stopwatch watch;
      model_->run(tensors);
      return watch.seconds();
    };
    const double first = seconds();
    return {{"seconds", first < short_run ? seconds() : first}};
  }

  std::unique_ptr<CompiledModel> model_;
};

}  // namespace

void judge_by(std::vector<std::string> arguments) {
  const std::scoped_lock lock(starting().guard);
  starting().arguments = std::move(arguments);
}

JudgePool* processes() {
  const std::scoped_lock lock(starting().guard);
  std::vector<std::string> arguments = starting().arguments;
  if (const std::string program = in_environment("QUASAR_PROGRAM"); arguments.empty() && !program.empty())
    arguments = {program, judge_word};
  if (arguments.empty()) return nullptr;
  std::vector<std::string> key = arguments;
  key.push_back(in_environment(variable));
  return &starting().pools.try_emplace(key, "OpenVINO", std::move(arguments), longest_answer_of_openvino).first->second;
}

std::string obstacle() {
  try {
    facts();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Json facts() {
  JudgePool* const judges = processes();
  if (judges == nullptr) return own_facts();
  auto process = judges->take();
  Json out = process->facts();
  judges->give_back(std::move(process));
  return out;
}

int answer_questions() {
  const OpenFile answers = take_standard_output();
  OpenVinoJudge judge;
  for (std::string line; std::getline(std::cin, line);) {
    Json said;
    try {
      said = judge.answer(json_in(line).value_or(Json::object()));
    } catch (const std::exception& error) {
      said = {{"error", error.what()}};
    }
    if (!answers.write(said.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n")) return 1;
  }
  return 0;
}

}  // namespace quasar::runtime::openvino
