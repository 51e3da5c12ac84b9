#include "quasar/graph/tensor_proto.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "quasar/base/error.hpp"

namespace quasar::graph {
namespace {

using Proto = std::shared_ptr<const onnx::TensorProto>;

DataType type_of(const onnx::TensorProto& proto) {
  const int number = proto.data_type();
  if (number <= 0 || number > static_cast<int>(DataType::int2)) {
    throw Error("data type " + std::to_string(number) + " is not one that Quasar knows");
  }
  return static_cast<DataType>(number);
}

[[noreturn]] void wrong_size(const std::string& has, DataType type, const Shape& shape) {
  throw Error("the data are " + has + ", which does not fit " + to_string(shape) + " " + std::string(name_of(type)));
}

size_t number_of(const std::string& key, const std::string& text) {
  size_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    throw Error("external data " + key + " '" + text + "' is not a number");
  return value;
}

ExternalPlace place_of(const onnx::TensorProto& proto) {
  ExternalPlace place;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = number_of("offset", entry.value());
    if (entry.key() == "length") place.length = number_of("length", entry.value());
  }
  return place;
}

// A typed field whose elements lie in memory as the tensor's do (a complex number is two of them).
template <class Field>
Tensor in_place(const Proto& proto, const Field& field, DataType type, const Shape& shape) {
  const size_t size = static_cast<size_t>(field.size()) * sizeof(*field.data());
  if (size != bytes_of(type, count_of(shape))) wrong_size(std::to_string(field.size()) + " numbers", type, shape);
  return {type, shape, proto, field.data()};
}

// A typed field with one wide number per element (per byte for types narrower than a byte).
template <class To, class Field>
Tensor narrowed(const Field& field, DataType type, const Shape& shape) {
  const size_t size = static_cast<size_t>(field.size()) * sizeof(To);
  if (size != bytes_of(type, count_of(shape))) wrong_size(std::to_string(field.size()) + " numbers", type, shape);
  std::vector<To> values(field.begin(), field.end());
  return Tensor::copy(type, shape, values.data(), size);
}

Tensor typed(const Proto& proto, DataType type, const Shape& shape) {
  switch (type) {
    case DataType::float32:
    case DataType::complex64:
      return in_place(proto, proto->float_data(), type, shape);
    case DataType::float64:
    case DataType::complex128:
      return in_place(proto, proto->double_data(), type, shape);
    case DataType::int64:
      return in_place(proto, proto->int64_data(), type, shape);
    case DataType::uint64:
      return in_place(proto, proto->uint64_data(), type, shape);
    case DataType::uint32:
      return narrowed<uint32_t>(proto->uint64_data(), type, shape);
    case DataType::int32:
      return in_place(proto, proto->int32_data(), type, shape);
    default:
      if (bits_of(type) == 16) return narrowed<uint16_t>(proto->int32_data(), type, shape);
      return narrowed<uint8_t>(proto->int32_data(), type, shape);
  }
}

Tensor strings_of(const onnx::TensorProto& proto, const Shape& shape) {
  const auto& values = proto.string_data();
  if (static_cast<size_t>(values.size()) != count_of(shape))
    wrong_size(std::to_string(values.size()) + " strings", DataType::string, shape);
  return Tensor::strings(shape, {values.begin(), values.end()});
}

// The place of entry `i` in the dense tensor: a linear index, or one index per dimension.
size_t place_in(const Shape& shape, std::span<const int64_t> indices, size_t i, size_t entries) {
  const size_t width = indices.size() / std::max<size_t>(entries, 1);
  size_t place = 0;
  for (size_t d = 0; d < width; ++d) {
    const int64_t index = indices[i * width + d];
    const int64_t size = width == 1 ? static_cast<int64_t>(count_of(shape)) : shape[d];
    if (index < 0 || index >= size) throw Error("a sparse tensor's index " + std::to_string(index) + " is out of bounds");
    place = place * static_cast<size_t>(size) + static_cast<size_t>(index);
  }
  return place;
}

}  // namespace

Tensor tensor_of(Proto proto, ExternalFiles& files) {
  const DataType type = type_of(*proto);
  const Shape shape(proto->dims().begin(), proto->dims().end());
  const size_t size = bytes_of(type, count_of(shape));
  if (proto->has_segment()) throw Error("segmented tensors are not part of ONNX any more");
  if (type == DataType::string) return strings_of(*proto, shape);
  if (proto->data_location() == onnx::TensorProto::EXTERNAL) return files.read(type, shape, place_of(*proto));
  if (!proto->has_raw_data()) return typed(proto, type, shape);
  const std::string& raw = proto->raw_data();
  if (raw.size() != size) wrong_size(std::to_string(raw.size()) + " bytes", type, shape);
  return {type, shape, std::move(proto), raw.data()};
}

Tensor dense_of(const onnx::SparseTensorProto& proto, ExternalFiles& files, size_t& room) {
  const Tensor values = tensor_of(std::make_shared<onnx::TensorProto>(proto.values()), files);
  const Tensor indices = tensor_of(std::make_shared<onnx::TensorProto>(proto.indices()), files);
  const Shape shape(proto.dims().begin(), proto.dims().end());
  const size_t entries = values.count(), width = bits_of(values.type()) / 8, size = bytes_of(values.type(), count_of(shape));
  const bool linear = indices.shape().size() == 1 && indices.count() == entries;
  const bool by_dimension = indices.shape() == Shape{static_cast<int64_t>(entries), static_cast<int64_t>(shape.size())};
  if (values.shape().size() != 1 || width == 0 || indices.type() != DataType::int64 || !(linear || by_dimension)) {
    throw Error("a sparse tensor needs values [n] and int64 indices [n] or [n," + std::to_string(shape.size()) + "]");
  }
  constexpr size_t always = 1'000'000,
                   per_entry = 10'000;  // elements; sparser weights than this are a few bytes that ask for gigabytes
  if (size > room || count_of(shape) > always + per_entry * entries) {
    throw Error("a sparse tensor " + to_string(shape) + " with " + std::to_string(entries) +
                " values is too large to be made dense");
  }
  room -= size;
  std::vector<std::byte> dense(size);
  for (size_t i = 0; i < entries; ++i) {
    std::memcpy(&dense[place_in(shape, indices.as<int64_t>(), i, entries) * width], &values.bytes()[i * width], width);
  }
  return Tensor::copy(values.type(), shape, dense.data(), size);
}

void set_header(onnx::TensorProto& proto, const Tensor& tensor) {
  proto.set_data_type(static_cast<int>(tensor.type()));
  proto.mutable_dims()->Add(tensor.shape().begin(), tensor.shape().end());
  if (tensor.type() != DataType::string) return;
  for (const auto& text : tensor.strings()) proto.add_string_data(text);
}

void set_tensor(onnx::TensorProto& proto, const Tensor& tensor) {
  set_header(proto, tensor);
  const auto bytes = tensor.bytes();
  if (tensor.type() != DataType::string) proto.set_raw_data(bytes.data(), bytes.size());
}

}  // namespace quasar::graph
