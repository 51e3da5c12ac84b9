// The module quasar._core: thin, what is pleasant to use stands in quasar/*.py.
#include "quasar/base/error.hpp"
#include "quasar/base/version.hpp"
#include "quasar/runtime/session.hpp"
#include "values.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace quasar::python;
  module.doc() = "Quasar's library; use the package quasar instead.";
  module.attr("version") = quasar::version();
  module.attr("onnxruntime_version") = quasar::runtime::version();
  static py::exception<quasar::Error> error(module, "QuasarError", PyExc_ValueError);
  error.doc() =
      "Something in the arguments, a file or a key is wrong; the message says what, what is allowed, and the nearest valid name.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const quasar::Error& e) {
      py::set_error(error, e.what());
    }
  });
  bind_models(module);
  bind_search(module);
  bind_study(module);
  bind_program(module);
}
