#include "quasar/graph/page_out.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "quasar/base/error.hpp"
#include "quasar/base/system/mapping.hpp"

namespace quasar::graph {
namespace {

constexpr size_t worth_it = size_t{1} << 20;  // bytes of a weight

}  // namespace

void page_out(const Model& model) {
  for (const auto& [name, tensor] : model.initializers) quasar::page_out(tensor.bytes());
}

size_t weight_bytes(const Model& model) {
  size_t total = 0;
  for (const auto& [name, tensor] : model.initializers) total += tensor.bytes().size();
  return total;
}

bool is_large(const Model& model) {
  return weight_bytes(model) >= large_weights;
}

bool too_large_for_a_message(const Model& model) {
  return weight_bytes(model) > large_weights;
}

void page_out(const Model& model, const Tensor& weight) {
  if (weight.bytes().size() >= worth_it && is_large(model)) quasar::page_out(weight.bytes());
}

Tensor in_scratch_file(const Tensor& tensor) {
  if (tensor.bytes().empty()) return tensor;
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const OpenFile file(folder, OpenFile::For::scratch);
  std::shared_ptr<Mapping> mapping;
  if (file.is_open() && file.write_at(0, tensor.bytes())) mapping = std::make_shared<Mapping>(file, tensor.bytes().size());
  if (mapping == nullptr || !mapping->is_there())
    throw Error("cannot keep codes of weights in '" + folder.string() + "': " + std::strerror(errno), blame_of_writing(errno));
  const void* bytes = mapping->bytes().data();
  return Tensor(tensor.type(), tensor.shape(), std::move(mapping), bytes);
}

}  // namespace quasar::graph
