// Ending work early, wherever it is: the work of a thread, with every loop and every run of a model in it, stops when its token
// says so.
#pragma once

#include <stop_token>

namespace quasar {

// For as long as it lives, this thread's work belongs to `token`; then to the token that it belonged to before. Threads of
// parallel_for() inherit it. Loops end between two items and ONNX Runtime between two nodes, by throwing Cancelled.
class CancelScope {
 public:
  explicit CancelScope(std::stop_token token);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  std::stop_token before_;
};

// This thread's token; one that never stops outside of every scope.
const std::stop_token& current_cancellation();

// Throws Cancelled when this thread's work is to end.
void throw_if_cancelled();

}  // namespace quasar
