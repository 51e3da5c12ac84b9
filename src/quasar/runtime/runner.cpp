#include "quasar/runtime/runner.hpp"

#include "quasar/base/stopwatch.hpp"
#include "quasar/runtime/openvino_judge.hpp"
#include "quasar/runtime/qnn_htp.hpp"

namespace quasar::runtime {
namespace {

using Opened = std::variant<Session, std::unique_ptr<openvino::CompiledModel>, std::unique_ptr<JudgedModel>>;

Opened opened(const graph::Model& model, const RunnerOptions& options) {
  switch (options.device.library) {
    case Library::openvino:
      if (JudgePool* const judges = openvino::processes()) return std::make_unique<JudgedModel>(*judges, model, options.at_once);
      return std::make_unique<openvino::CompiledModel>(model, options.at_once);
    case Library::qnn_htp:
      return std::make_unique<JudgedModel>(qnn_htp::processes(), model, options.at_once);
    default:
      return Session(model, {.threads = options.threads, .device = options.device, .exact_sums = options.exact_sums});
  }
}

const Session& plain(const Session& session) {
  return session;
}

template <class Model>
const Model& plain(const std::unique_ptr<Model>& model) {
  return *model;
}

template <class Model>
double seconds_in(const Model& model, std::span<const Tensor> inputs) {
  const Stopwatch watch;
  model.run(inputs);
  return watch.seconds();
}

double seconds_in(const JudgedModel& model, std::span<const Tensor> inputs) {
  return model.seconds_of_run(inputs);
}

}  // namespace

Runner::Runner(const graph::Model& model, const RunnerOptions& options) : model_(opened(model, options)) {}

const std::vector<graph::Value>& Runner::inputs() const {
  return std::visit([](const auto& model) -> const std::vector<graph::Value>& { return plain(model).inputs(); }, model_);
}

const std::vector<graph::Value>& Runner::outputs() const {
  return std::visit([](const auto& model) -> const std::vector<graph::Value>& { return plain(model).outputs(); }, model_);
}

std::vector<Tensor> Runner::run(std::span<const Tensor> inputs) const {
  return std::visit([&](const auto& model) { return plain(model).run(inputs); }, model_);
}

double Runner::seconds_of_run(std::span<const Tensor> inputs) const {
  return std::visit([&](const auto& model) { return seconds_in(plain(model), inputs); }, model_);
}

}  // namespace quasar::runtime
