// Tensors from and to onnx::TensorProto. For the sources of graph/ only.
#pragma once

#include <memory>

#include "quasar/graph/external_files.hpp"
#include "quasar/graph/tensor.hpp"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace quasar::graph {

// Raw data, typed fields or external data. The tensor keeps the message (or the mapped file) and points into it: weights are not
// copied, but for narrow types that came as int32_data. Throws Error when the data contradict type and shape.
Tensor tensor_of(std::shared_ptr<const onnx::TensorProto> proto, ExternalFiles& files);

// What sparse tensors of one model may become together, in bytes: as much as an ONNX file may hold.
constexpr size_t most_dense_bytes = INT32_MAX;

// The dense tensor, zeros filled in. Throws Error when it takes more than `room` bytes, which it makes less by what it takes.
Tensor dense_of(const onnx::SparseTensorProto& proto, ExternalFiles& files, size_t& room);

// Sets type and dimensions, and strings where the tensor holds such: all but the bytes.
void set_header(onnx::TensorProto& proto, const Tensor& tensor);

// The whole tensor, its bytes copied as raw data.
void set_tensor(onnx::TensorProto& proto, const Tensor& tensor);

}  // namespace quasar::graph
