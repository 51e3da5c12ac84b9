// States of zeros that LSTM, GRU and RNN are given, and begin with anyway.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// Leaves the inputs initial_h and initial_c out where constants, ConstantOfShape and operators that move values prove that they
// are zero: ONNX says that they are where they are left out. PyTorch's exporters always write them, of as many samples as there
// are. What made them goes where nobody else reads it. OpenVINO (2026.4) has integer kernels for LSTM and GRU without them only.
void drop_zero_states(graph::Model& model);

}  // namespace quasar::runtime
