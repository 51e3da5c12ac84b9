// Models in a process of their own, so that what hangs or crashes there costs one model and no search: lines of JSON, and tensors
// in files (qnn_judge.py says which; openvino_judge.hpp what is asked besides).
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/file.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/process.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// A program that answers questions about one model at a time.
class JudgeProcess {
 public:
  // `name`: of the library, for messages. `arguments`: as ProcessOptions has them. `longest`: seconds that one answer may take.
  // Throws Error where the program cannot be started or says what it lacks.
  JudgeProcess(std::string name, const std::vector<std::string>& arguments, double longest);

  // What it said of itself: {library, version, device}.
  const Json& facts() const { return facts_; }

  // What it says of the model in this file. `of`: whose inputs and outputs it has. `more`: what is asked besides. Throws Error
  // with the library's message when it refuses the model, and when the process hangs or dies, after which `alive` is false;
  // Cancelled when the work of the calling thread is.
  Json open(const std::filesystem::path& model, const graph::Model& of, const Json& more, bool& alive);

  // A name for the model that was opened last, by which it is known again; "": it has none.
  void call_it(std::string name) { open_model_ = std::move(name); }
  const std::string& open_model() const { return open_model_; }

  // One tensor per input -> one per output of the model that was opened last. Throws as open().
  std::vector<Tensor> run(const std::vector<graph::Value>& inputs, std::span<const Tensor> given, bool& alive);

  // Seconds that one run takes in the library, without the way of its tensors. Throws as open().
  double seconds_of_run(const std::vector<graph::Value>& inputs, std::span<const Tensor> given, bool& alive);

 private:
  // Puts the tensors where the process reads them.
  Json question_of(const std::vector<graph::Value>& inputs, std::span<const Tensor> given) const;
  Json ask(const Json& question, const std::string& doing, bool& alive);

  std::string name_;
  double longest_;
  TemporaryFolder folder_;
  Process process_;
  Json facts_;
  std::string open_model_ = {};
};

// What a process says of the model when it is asked to open it with `more` in the question. Throws as JudgeProcess::open().
class JudgePool;
Json said_of(JudgePool& pool, const graph::Model& model, const Json& more);

// Processes that wait for their next model. Thread-safe.
class JudgePool {
 public:
  // As JudgeProcess has them.
  JudgePool(std::string name, std::vector<std::string> arguments, double longest)
      : name_(std::move(name)), arguments_(std::move(arguments)), longest_(longest) {}

  // One that waits, best one that has this model open (JudgeProcess::open_model), or a new one. Throws as JudgeProcess.
  std::unique_ptr<JudgeProcess> take(const std::string& model = "");
  void give_back(std::unique_ptr<JudgeProcess> process);

 private:
  const std::string name_;
  const std::vector<std::string> arguments_;
  const double longest_;
  std::mutex guard_;
  std::vector<std::unique_ptr<JudgeProcess>> idle_;
};

// A model that is open in one process or more; runs from several threads wait for each other beyond that.
class JudgedModel {
 public:
  // `at_once`: so many processes. Those that opened the same model last have it still. Throws Error as JudgeProcess::open().
  JudgedModel(JudgePool& pool, const graph::Model& model, size_t at_once);
  ~JudgedModel();
  JudgedModel(const JudgedModel&) = delete;
  JudgedModel& operator=(const JudgedModel&) = delete;

  // The model's own, in its order.
  const std::vector<graph::Value>& inputs() const;
  const std::vector<graph::Value>& outputs() const;

  // One tensor per input -> one per output, in order. Throws Error that names the input which does not fit, and as
  // JudgeProcess::run().
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  // As JudgeProcess::seconds_of_run().
  double seconds_of_run(std::span<const Tensor> inputs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quasar::runtime
