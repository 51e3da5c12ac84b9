// OpenVINO behind one class, as session.hpp is for ONNX Runtime: where candidates for target openvino are judged. It runs in a
// process of its own where there can be one (openvino_judge.hpp).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::runtime::openvino {

// The release, "2026.4.1". Throws Error where the library cannot be opened.
std::string version();

// Throws Error, which says how to install it, where models cannot run in OpenVINO in this process.
void start();

// {operation: the type that it computes in, "i8" or "f32"} of the compiled model; "": it is part of another one's kernel.
// Operations have the names of the model's nodes, or these with a suffix behind a slash. Throws Error with OpenVINO's message.
std::multimap<std::string, std::string> types_computed_in(const graph::Model& model);
std::multimap<std::string, std::string> types_computed_in(const std::filesystem::path& file);

// A model ready to run on OpenVINO's CPU. Its float parts compute in float32 on every machine, also where OpenVINO would take 16
// bits by itself: scores do not depend on the processor. run() may be called from several threads at once.
class CompiledModel {
 public:
  // `at_once`: so many runs compute at the same time, each on one thread; others wait. Throws Error with OpenVINO's message.
  CompiledModel(const graph::Model& model, size_t at_once);
  // The one in this file, for one run at a time; these are its inputs and outputs. Throws likewise.
  CompiledModel(const std::filesystem::path& file, std::vector<graph::Value> inputs, std::vector<graph::Value> outputs);
  ~CompiledModel();
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;

  // The model's own, in its order.
  const std::vector<graph::Value>& inputs() const;
  const std::vector<graph::Value>& outputs() const;

  // One tensor per input -> one per output, in order. Throws Error that names the input which does not fit, or with OpenVINO's
  // message; Cancelled when the work of the calling thread is (base/cancellation.hpp).
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What went wrong in words for a user: OpenVINO's message without the places in its source, in one line.
std::string shortened(const std::string& message);

}  // namespace quasar::runtime::openvino
