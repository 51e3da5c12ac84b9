// Operators that ONNX tried out and dropped at opset 10: the converters of old frameworks wrote them, ONNX Runtime still runs
// them below. For the sources of graph/ only.
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/convert_options.hpp"

namespace onnx {
class NodeProto;
}

namespace quasar::graph {

bool is_dropped_operator(const std::string& op, int64_t from, int64_t to);

// The same by operators that are still there: ImageScaler, Affine and Scale are Mul and Add, Crop is Slice, ScaledTanh and
// ParametricSoftplus are Tanh and Softplus between Muls; MeanVarianceNormalization of before opset 9 gets axes. Throws Error for
// the others, which have no equivalent.
std::vector<onnx::NodeProto> without_dropped(const onnx::NodeProto& node, const ConvertOptions& options);

}  // namespace quasar::graph
