#include "quasar/data/permute.hpp"

namespace quasar::data {
namespace {

// The last axis of the result is the inner loop; the others count like an odometer.
template <class T>
void gather(const T* from, T* to, const Shape& shape, const std::vector<size_t>& strides) {
  const size_t rank = shape.size(), inner = static_cast<size_t>(shape[rank - 1]), step = strides[rank - 1];
  const size_t rows = count_of(shape) / inner;
  std::vector<int64_t> position(rank, 0);
  size_t start = 0;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t k = 0; k < inner; ++k) to[k] = from[start + k * step];
    to += inner;
    for (size_t axis = rank - 1; axis-- > 0;) {
      start += strides[axis];
      if (++position[axis] < shape[axis]) break;
      start -= strides[axis] * static_cast<size_t>(shape[axis]);
      position[axis] = 0;
    }
  }
}

}  // namespace

Tensor permuted(const Tensor& tensor, const std::vector<size_t>& order) {
  const size_t rank = order.size();
  std::vector<size_t> source(rank, 1);
  for (size_t axis = rank; axis-- > 1;) source[axis - 1] = source[axis] * static_cast<size_t>(tensor.shape()[axis]);
  Shape shape(rank);
  std::vector<size_t> strides(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    shape[axis] = tensor.shape()[order[axis]];
    strides[axis] = source[order[axis]];
  }
  if (tensor.empty() || rank == 0) return tensor.reshaped(shape);
  const auto bytes = tensor.bytes();
  const std::shared_ptr<std::byte[]> out(new std::byte[bytes.size()]);
  const auto run = [&]<class T>(T) {
    gather(reinterpret_cast<const T*>(bytes.data()), reinterpret_cast<T*>(out.get()), shape, strides);
  };
  switch (bits_of(tensor.type())) {
    case 8:
      run(uint8_t{});
      break;
    case 16:
      run(uint16_t{});
      break;
    case 32:
      run(uint32_t{});
      break;
    default:
      run(uint64_t{});
      break;
  }
  return {tensor.type(), shape, out, out.get()};
}

}  // namespace quasar::data
