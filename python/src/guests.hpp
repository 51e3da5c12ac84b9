// What a Python program brings to a search: samples in memory, evaluators, samplers, stop conditions, strategies. Each is known
// to its table under a name for as long as the guest lives.
#pragma once

#include "quasar/search/trial.hpp"
#include "values.hpp"

namespace quasar::python {

// A trial as Python sees it: {number, state, params, values, attributes, intermediate, start, complete}.
py::dict to_python(const search::Trial& trial);

// Trials for Python: those that have ended are translated once.
class TrialList {
 public:
  py::list of(std::span<const search::Trial> trials);

 private:
  std::vector<py::object> ended_;
};

void bind_guests(py::module_& module);

// Raised through a Python strategy when no further trial may start.
py::object search_over();

}  // namespace quasar::python
