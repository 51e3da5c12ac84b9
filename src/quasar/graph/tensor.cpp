#include "quasar/graph/tensor.hpp"

#include <array>
#include <cstring>
#include <new>
#include <stdexcept>

#include "quasar/base/error.hpp"

namespace quasar {
namespace {

struct TypeInfo {
  std::string_view name;
  size_t bits;
};

// In the order of ONNX's numbers.
constexpr std::array<TypeInfo, 27> types{
    {{"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
     {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
     {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
     {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
     {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
     {"uint2", 2},          {"int2", 2}}};

const TypeInfo& info(DataType type) {
  const auto number = static_cast<size_t>(type);
  if (number >= types.size()) throw Error("data type " + std::to_string(static_cast<int>(type)) + " is not known");
  return types[number];
}

constexpr std::align_val_t alignment{64};  // a cache line, and the widest vector register

}  // namespace

std::string_view name_of(DataType type) {
  return info(type).name;
}

size_t bits_of(DataType type) {
  return info(type).bits;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (const int64_t size : shape) {
    if (out.size() > 1) out += ',';
    out += std::to_string(size);
  }
  out += ']';
  return out;
}

size_t count_of(const Shape& shape) {
  size_t count = 1;
  bool none = false;
  for (const int64_t size : shape) {
    if (size < 0) throw Error("the shape " + to_string(shape) + " has a negative size");
    none = none || size == 0;
    if (size > 0 && __builtin_mul_overflow(count, static_cast<size_t>(size), &count)) {
      throw Error("the shape " + to_string(shape) + " has more elements than any memory holds");
    }
  }
  return none ? 0 : count;
}

size_t bytes_of(DataType type, size_t count) {
  size_t bits = 0;
  if (__builtin_mul_overflow(count, bits_of(type), &bits)) {
    throw Error(std::to_string(count) + " elements of type " + std::string(name_of(type)) + " are more than any memory holds");
  }
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

Tensor::Tensor(DataType type, Shape shape, std::shared_ptr<const void> owner, const void* bytes)
    : type_(type), shape_(std::move(shape)), count_(count_of(shape_)), owner_(std::move(owner)), bytes_(bytes) {
  bytes_of(type_, count_);  // throws when there is no such number of bytes
}

Tensor Tensor::copy(DataType type, Shape shape, const void* bytes, size_t size) {
  const size_t expected = bytes_of(type, count_of(shape));
  if (size != expected || type == DataType::string) {
    throw Error("a tensor " + to_string(shape) + " of type " + std::string(name_of(type)) + " takes " + std::to_string(expected) +
                " bytes, not " + std::to_string(size));
  }
  const std::shared_ptr<void> memory(::operator new(size, alignment), [](void* p) { ::operator delete(p, alignment); });
  if (size != 0) std::memcpy(memory.get(), bytes, size);
  return {type, std::move(shape), memory, memory.get()};
}

Tensor Tensor::strings(Shape shape, std::vector<std::string> values) {
  if (values.size() != count_of(shape)) {
    throw Error("a tensor " + to_string(shape) + " of strings cannot hold " + std::to_string(values.size()));
  }
  const auto owner = std::make_shared<const std::vector<std::string>>(std::move(values));
  return {DataType::string, std::move(shape), owner, owner.get()};
}

const std::vector<std::string>& Tensor::strings() const {
  check(DataType::string);
  return *static_cast<const std::vector<std::string>*>(bytes_);
}

Tensor Tensor::reshaped(Shape shape) const {
  if (count_of(shape) != count_) throw Error("a tensor " + to_string(shape_) + " cannot take the shape " + to_string(shape));
  Tensor out = *this;
  out.shape_ = std::move(shape);
  return out;
}

bool Tensor::operator==(const Tensor& other) const {
  if (type_ != other.type_ || shape_ != other.shape_) return false;
  if (type_ == DataType::string) return strings() == other.strings();
  const auto mine = bytes();
  return mine.empty() || bytes_ == other.bytes_ || std::memcmp(bytes_, other.bytes_, mine.size()) == 0;
}

void Tensor::check(DataType expected) const {
  if (type_ == expected) return;
  throw std::logic_error("a tensor of type " + std::string(name_of(type_)) + " was read as " + std::string(name_of(expected)));
}

}  // namespace quasar
