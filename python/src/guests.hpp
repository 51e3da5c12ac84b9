// What a Python program brings to a search: samples in memory, evaluators, samplers, stop conditions, strategies. Each is known
// to its table under a name for as long as the guest lives.
#pragma once

#include <functional>

#include "quasar/base/plugin.hpp"
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

// A guest of any table, as Python holds it.
struct Visitor {
  virtual ~Visitor() = default;
};
template <class T>
struct VisitorOf final : Visitor {
  VisitorOf(const Table<T>& table, const std::string& name, Entry<T> entry) : guest(table, name, std::move(entry)) {}
  Guest<T> guest;
};

template <class T>
std::unique_ptr<Visitor> visitor(const Table<T>& table, const std::string& name,
                                 std::function<std::unique_ptr<T>(const Options&)> make, std::vector<OptionSpec> options = {}) {
  return std::make_unique<VisitorOf<T>>(
      table, name, Entry<T>{.help = "brought by the program", .make = std::move(make), .options = std::move(options)});
}

void bind_guests(py::module_& module);    // samples in memory, evaluators
void bind_deciders(py::module_& module);  // samplers, stop conditions, strategies
void bind_tuners(py::module_& module);    // strategies that tune operators

}  // namespace quasar::python
