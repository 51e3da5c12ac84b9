// The operator by which values of a graph are looked at while it runs; for the runtime folder only.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <exception>
#include <functional>
#include <utility>

#include "quasar/graph/tensor.hpp"

namespace quasar::runtime {

// Observe(value) -> token, with the attribute `number`: shows the value to the listener under this number. The token means
// nothing, and is there because a graph has outputs.
constexpr const char* observe_domain = "ai.quasar.inner";
constexpr const char* observe_type = "Observe";

// Of one run. ONNX Runtime tells a kernel nothing of the run that it belongs to, but calls it on the thread that asked for it.
struct Listener {
  explicit Listener(const std::function<void(size_t number, const Tensor& value)>& observer) : see(observer) {}
  ~Listener() { of_this_thread = outer_; }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::function<void(size_t number, const Tensor& value)>& see;
  std::exception_ptr failure = nullptr;  // what `see` threw
  static thread_local Listener* of_this_thread;

 private:
  Listener* const outer_ = std::exchange(of_this_thread, this);  // of a run that is going on around this one
};

// For the options of sessions whose graph has such nodes.
const Ort::CustomOpDomain& observe_operators();

}  // namespace quasar::runtime
