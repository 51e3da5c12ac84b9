// The command line in the interpreter's process: a wheel holds the library once, for Python and for the programs.
#include "quasar/cli/program.hpp"

#include <string>
#include <vector>

#include "quasar/runtime/openvino_judge.hpp"
#include "values.hpp"

namespace quasar::python {
namespace {

// arguments: bytes, as names of files need not be text.
int program(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const py::gil_scoped_release others_run;
  return cli::program(static_cast<int>(arguments.size()), words.data());
}

}  // namespace

void bind_program(py::module_& module) {
  module.def("program", [](const py::list& given) {
    std::vector<std::string> arguments;
    for (const py::handle item : given) arguments.push_back(item.cast<std::string>());
    return program(std::move(arguments));
  });
  module.def("judge_by", &runtime::openvino::judge_by);
  module.def("answer_for_openvino", &runtime::openvino::answer_questions, py::call_guard<py::gil_scoped_release>());
}

}  // namespace quasar::python
