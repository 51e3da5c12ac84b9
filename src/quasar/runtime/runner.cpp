#include "quasar/runtime/runner.hpp"

namespace quasar::runtime {
namespace {

using Opened = std::variant<Session, std::unique_ptr<openvino::CompiledModel>>;

Opened opened(const graph::Model& model, const RunnerOptions& options) {
  if (options.device.library == Library::openvino) return std::make_unique<openvino::CompiledModel>(model, options.at_once);
  return Session(model, {.device = options.device, .exact_sums = options.exact_sums});
}

}  // namespace

Runner::Runner(const graph::Model& model, const RunnerOptions& options) : model_(opened(model, options)) {}

const std::vector<graph::Value>& Runner::inputs() const {
  const Session* const session = std::get_if<Session>(&model_);
  return session != nullptr ? session->inputs() : std::get<1>(model_)->inputs();
}

const std::vector<graph::Value>& Runner::outputs() const {
  const Session* const session = std::get_if<Session>(&model_);
  return session != nullptr ? session->outputs() : std::get<1>(model_)->outputs();
}

std::vector<Tensor> Runner::run(std::span<const Tensor> inputs) const {
  const Session* const session = std::get_if<Session>(&model_);
  return session != nullptr ? session->run(inputs) : std::get<1>(model_)->run(inputs);
}

}  // namespace quasar::runtime
