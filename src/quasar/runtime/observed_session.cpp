#include "quasar/runtime/observed_session.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/graph/bodies.hpp"
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
void add_observers(graph::Model& to, const std::vector<std::string>& values, const std::vector<size_t>& places, bool as_outputs) {
  graph::Names names(to);
  to.opsets[observe_domain] = 1;
  for (size_t k = places.size(); k-- > 0;) {
    const size_t i = places[k];
    const std::string token = names.fresh("seen_" + std::to_string(i));
    to.nodes.push_back({.name = names.fresh("observe_" + std::to_string(i)),
                        .op_type = observe_type,
                        .domain = observe_domain,
                        .inputs = {values[i]},
                        .outputs = {token},
                        .attributes = {{"number", static_cast<int64_t>(i)}}});
    if (as_outputs) to.outputs.push_back({token, DataType::int64});
  }
}

struct Places {
  std::vector<size_t> outer, inner;  // of values, among those to look at
};

Places places_of(const graph::Model& model, const std::vector<std::string>& values) {
  const std::set<std::string> inside = graph::inner_values(model);
  Places out;
  for (size_t i = 0; i < values.size(); i++) (inside.contains(values[i]) ? out.inner : out.outer).push_back(i);
  return out;
}

// The values to look at, the owner's first output in place of a body's value: so much of the model runs.
std::vector<std::string> ends_of(const graph::Model& model, const std::vector<std::string>& values, const Places& places) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& value) {
    if (std::ranges::find(out, value) == out.end()) out.push_back(value);
  };
  for (const size_t i : places.outer) out.push_back(values[i]);
  if (places.inner.empty()) return out;
  const graph::Index index(model);
  for (const size_t i : places.inner) {
    const auto owners = graph::owners_of(*index.producer(values[i]), index);
    const auto given = std::ranges::find_if(owners.back()->outputs, [](const std::string& name) { return !name.empty(); });
    if (given != owners.back()->outputs.end()) add(*given);
  }
  return out;
}

// With open bodies, of which nobody but the observers may read a value.
graph::Model needed_part(const graph::Model& model, const std::vector<std::string>& values, const Places& places) {
  const std::vector<std::string> ends = ends_of(model, values, places);
  if (places.inner.empty()) return tapped(model, ends);
  graph::Model out = model;
  out.outputs.clear();
  for (const auto& value : ends) out.outputs.push_back({value});
  graph::remove_unused(out);
  const graph::Index kept(out);
  for (const size_t i : places.inner) {
    if (kept.producer(values[i]) == nullptr)
      throw Error("the value '" + values[i] + "' cannot be looked at: its body does not need it");
  }
  return out;
}

bool are_many(const Places& places) {
  return places.outer.size() > most_observers;
}

graph::Model with_observers(const graph::Model& model, const std::vector<std::string>& values) {
  const Places places = places_of(model, values);
  graph::Model out = needed_part(model, values, places);
  if (are_many(places)) {
    out.outputs.resize(places.outer.size());  // those of the owners come last
  } else {
    const std::vector<graph::Value> owners(out.outputs.begin() + static_cast<ptrdiff_t>(places.outer.size()), out.outputs.end());
    out.outputs.clear();
    add_observers(out, values, places.outer, true);
    out.outputs.insert(out.outputs.end(), owners.begin(), owners.end());
  }
  add_observers(out, values, places.inner, false);
  return out;
}

std::vector<size_t> places_given_out(const graph::Model& model, const std::vector<std::string>& values) {
  const Places places = places_of(model, values);
  return are_many(places) ? places.outer : std::vector<size_t>();
}

}  // namespace

ObservedSession::ObservedSession(const graph::Model& model, const std::vector<std::string>& values)
    : given_out_(places_given_out(model, values)), session_(with_observers(model, values)) {}

void ObservedSession::run(std::span<const Tensor> inputs, const Observer& see) const {
  Listener listener(see);
  try {
    const std::vector<Tensor> found = session_.run(inputs);
    for (size_t i = 0; i < given_out_.size(); i++) see(given_out_[i], found[i]);
  } catch (const Error&) {
    if (listener.failure) std::rethrow_exception(listener.failure);
    throw;
  }
}

}  // namespace quasar::runtime
