// Values of a graph, looked at while it runs: none of them is kept. Of a graph with more than 2000 values, when it has run.
// Values of open bodies (graph/bodies.hpp) are looked at whenever the body computes them: not at all, once, or several times.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quasar/runtime/session.hpp"

namespace quasar::runtime {

// Sees a value as soon as it is computed. `number`: its place among the names. The tensor is good during the call only.
using Observer = std::function<void(size_t number, const Tensor& value)>;

class ObservedSession {
 public:
  // Throws Error as tapped() and Session do.
  ObservedSession(const graph::Model& model, const std::vector<std::string>& values);

  // Of the model, in its order: one tensor each is what run() wants.
  const std::vector<graph::Value>& inputs() const { return session_.inputs(); }

  // Computes the values, shows each of them once (of bodies: as often as there is one), and returns nothing. `see` is called by
  // the calling thread; what it throws ends the run and is thrown again here. May be called from several threads at once.
  void run(std::span<const Tensor> inputs, const Observer& see) const;

 private:
  // Places of the values that the session gives out, where there are so many that observers would make it slow to open.
  std::vector<size_t> given_out_;
  Session session_;
};

}  // namespace quasar::runtime
