#include "quasar/runtime/observed_session.hpp"

#include "quasar/base/error.hpp"
#include "quasar/runtime/observe_op.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::runtime {
namespace {

// Opening a session is quadratic in the ends of its graph: 2 s for so many, a minute for five times as many. Models with more
// values have small ones.
constexpr size_t most_observers = 2000;

// The values' readers come in the opposite order. ONNX Runtime takes the last node that nobody reads first, with all that it
// needs: so each value is seen when it is computed, and its memory is free for those behind it. In any other order, also in a
// chain of observers, the results would be the same and need more memory.
graph::Model with_observers(const graph::Model& model, const std::vector<std::string>& values) {
  graph::Model out = tapped(model, values);
  graph::Names names(model);
  out.opsets[observe_domain] = 1;
  out.outputs.clear();
  for (size_t i = values.size(); i-- > 0;) {
    const std::string token = names.fresh("seen_" + std::to_string(i));
    out.nodes.push_back({.name = names.fresh("observe_" + std::to_string(i)),
                         .op_type = observe_type,
                         .domain = observe_domain,
                         .inputs = {values[i]},
                         .outputs = {token},
                         .attributes = {{"number", static_cast<int64_t>(i)}}});
    out.outputs.push_back({token, DataType::int64});
  }
  return out;
}

}  // namespace

ObservedSession::ObservedSession(const graph::Model& model, const std::vector<std::string>& values)
    : are_outputs_(values.size() > most_observers),
      session_(are_outputs_ ? tapped(model, values) : with_observers(model, values)) {}

void ObservedSession::run(std::span<const Tensor> inputs, const Observer& see) const {
  if (are_outputs_) {
    const std::vector<Tensor> found = session_.run(inputs);
    for (size_t i = 0; i < found.size(); i++) see(i, found[i]);
    return;
  }
  Listener listener(see);
  try {
    session_.run(inputs);
  } catch (const Error&) {
    if (listener.failure) std::rethrow_exception(listener.failure);
    throw;
  }
}

}  // namespace quasar::runtime
