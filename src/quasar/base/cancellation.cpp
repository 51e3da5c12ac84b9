#include "quasar/base/cancellation.hpp"

#include <utility>

#include "quasar/base/error.hpp"

namespace quasar {
namespace {

thread_local std::stop_token current;

}  // namespace

CancelScope::CancelScope(std::stop_token token) : before_(std::exchange(current, std::move(token))) {}

CancelScope::~CancelScope() {
  current = std::move(before_);
}

const std::stop_token& current_cancellation() {
  return current;
}

void throw_if_cancelled() {
  if (current.stop_requested()) throw Cancelled("the work was stopped");
}

}  // namespace quasar
