// Execution providers by ONNX Runtime's C interface; for the runtime folder only.
#pragma once

#include <onnxruntime_cxx_api.h>

#include "quasar/runtime/device.hpp"

namespace quasar::runtime {

// One for the process; ONNX Runtime's interfaces want it before anything else.
Ort::Env& environment();

// Makes sessions with these options run on the device; nothing to do for the cpu. Throws Ort::Exception when ONNX Runtime lacks
// the provider, cannot load its libraries, or does not find the device.
void append_provider(Ort::SessionOptions& options, const Device& device);

}  // namespace quasar::runtime
