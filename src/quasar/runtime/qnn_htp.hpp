// Qualcomm's HTP behind ONNX Runtime's QNN provider, in Python processes (qnn_judge.py): where candidates for target qnn_htp are
// judged. The headers that Quasar is built with (API 21) cannot register such a provider.
#pragma once

#include "quasar/runtime/judge_process.hpp"

namespace quasar::runtime::qnn_htp {

// The environment variable that says which Python has the wheels onnxruntime (1.32 or newer) and onnxruntime-qnn: the
// interpreter, or the folder of a virtual environment.
inline constexpr const char* variable = "QUASAR_QNN";

// Why models cannot run there, and how to install it; "": they can.
std::string obstacle();

// {library, version, device}: "QNN HTP", "2.7.0 (ONNX Runtime 1.32.0)", "simulator of HTP". Throws Error where it is not here.
Json facts();

// Processes of this program that wait for models. Throws Error where no Python is known.
JudgePool& processes();

}  // namespace quasar::runtime::qnn_htp
