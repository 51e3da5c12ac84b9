// A model ready to run where a device says: in ONNX Runtime (session.hpp), OpenVINO (openvino.hpp) or QNN HTP (qnn_htp.hpp). What
// scores and times candidates runs them through it; statistics and rounding always run in ONNX Runtime.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "quasar/runtime/judge_process.hpp"
#include "quasar/runtime/openvino.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {

struct RunnerOptions {
  Device device = {};
  bool exact_sums = true;  // SessionOptions::exact_sums; others have no such choice
  size_t at_once = 1;      // so many runs may compute at the same time without waiting for each other, one thread each
  int threads = 1;         // within a run of ONNX Runtime; other libraries have one
};

// run() may be called from several threads at once.
class Runner {
 public:
  // Throws Error with the library's message where it cannot open the model.
  explicit Runner(const graph::Model& model, const RunnerOptions& options = {});

  // In the model's order.
  const std::vector<graph::Value>& inputs() const;
  const std::vector<graph::Value>& outputs() const;

  // One tensor per input, in order -> one per output, in order. Throws Error that names the input which does not fit, or with the
  // library's message; Cancelled when the work of the calling thread is.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  // Seconds that one run takes in the library; what brings tensors to its process does not count. Throws as run().
  double seconds_of_run(std::span<const Tensor> inputs) const;

 private:
  std::variant<Session, std::unique_ptr<openvino::CompiledModel>, std::unique_ptr<JudgedModel>> model_;
};

}  // namespace quasar::runtime
