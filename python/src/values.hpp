// JSON values and arrays, to and from Python; Python objects in the handle of C++ threads.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>

#include "quasar/base/json.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar::python {

namespace py = pybind11;

py::object to_python(const Json& value);

// None, bool, int, float, str, lists, tuples and mappings of these. Raises TypeError for others.
Json to_json(py::handle value);

// Without a copy, read-only; bfloat16 as float32. Throws Error for texts and 4-bit types.
py::array to_numpy(const Tensor& tensor);

// A copy. Throws Error for types that no model takes.
Tensor to_tensor(const py::array& array);

// The same without a copy where the array is contiguous: it must not change as long as the tensor lives.
Tensor to_shared_tensor(const py::array& array);

// A Python object that C++ may copy and let go from any thread, with or without the interpreter's lock.
class Held {
 public:
  explicit Held(py::object object)
      : object_(new py::object(std::move(object)), [](py::object* last) {
          if (Py_IsInitialized() == 0) return;  // at the program's end, when no object can be let go of any more
          const py::gil_scoped_acquire lock;
          delete last;
        }) {}
  const py::object& get() const { return *object_; }  // with the lock

 private:
  std::shared_ptr<py::object> object_;
};

// "ValueError: no such file" and the traceback as Python prints it.
std::pair<std::string, std::string> described(py::error_already_set& error);

// The parts of the module.
void bind_models(py::module_& module);   // quantize, evaluate, inspect, lists, Session
void bind_search(py::module_& module);   // search, and what a Python program adds to it
void bind_study(py::module_& module);    // Space, Study
void bind_program(py::module_& module);  // the command line

}  // namespace quasar::python
