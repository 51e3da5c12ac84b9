// For toggled_model.cpp only.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "quasar/runtime/session.hpp"

namespace quasar::tune {

// A model whose session is made when it runs first: then the types of its inputs are known.
class LateSession {
 public:
  explicit LateSession(graph::Model model) : model_(std::move(model)) {}

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    open(inputs);
    return session_->run(inputs);
  }

 private:
  // Sizes stay open: other samples may have others. Pairs stay as they are: what is between them computes in float.
  // No std::call_once: under the thread sanitizer it waits for ever after a call that threw.
  void open(const std::vector<Tensor>& inputs) const {
    const std::lock_guard lock(opening_);
    if (session_ != nullptr) return;
    for (size_t i = 0; i < inputs.size(); i++) {
      model_.inputs[i].type = inputs[i].type();
      model_.inputs[i].shape = Shape(inputs[i].shape().size(), -1);
    }
    session_ = std::make_unique<runtime::Session>(model_, runtime::SessionOptions{.arena = false, .integer_kernels = false});
    model_ = {};
  }

  mutable graph::Model model_;
  mutable std::mutex opening_;
  mutable std::unique_ptr<runtime::Session> session_;
};

}  // namespace quasar::tune
