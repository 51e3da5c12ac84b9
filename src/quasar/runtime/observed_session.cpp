#include "quasar/runtime/observed_session.hpp"

#include "quasar/base/error.hpp"
#include "quasar/runtime/observe_op.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::runtime {
namespace {

// The values' readers come in the opposite order. ONNX Runtime takes the last node that nobody reads first, with all that it
// needs: so each value is seen when it is computed, and its memory is free for those behind it. In any other order the results
// would be the same and need more memory.
graph::Model with_observers(const graph::Model& model, const std::vector<std::string>& values) {
  graph::Model out = tapped(model, values);
  graph::Names names(model);
  const std::string listener = names.fresh("listener");
  out.opsets[observe_domain] = 1;
  out.outputs.clear();
  for (size_t i = values.size(); i-- > 0;) {
    const std::string token = names.fresh("seen_" + std::to_string(i));
    out.nodes.push_back({.name = names.fresh("observe_" + std::to_string(i)),
                         .op_type = observe_type,
                         .domain = observe_domain,
                         .inputs = {values[i], listener},
                         .outputs = {token},
                         .attributes = {{"number", static_cast<int64_t>(i)}}});
    out.outputs.push_back({token, DataType::int64});
  }
  out.inputs.push_back({listener, DataType::int64, Shape{1}});
  return out;
}

}  // namespace

ObservedSession::ObservedSession(const graph::Model& model, const std::vector<std::string>& values)
    : session_(with_observers(model, values)) {
  inputs_ = session_.inputs();
  inputs_.pop_back();  // the listener
}

void ObservedSession::run(std::span<const Tensor> inputs, const Observer& see) const {
  Listener listener{see};
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  const int64_t address = reinterpret_cast<int64_t>(&listener);
  all.push_back(Tensor::of<int64_t>(Shape{1}, std::span<const int64_t>(&address, 1)));
  try {
    session_.run(all);
  } catch (const Error&) {
    if (listener.failure) std::rethrow_exception(listener.failure);
    throw;
  }
}

}  // namespace quasar::runtime
