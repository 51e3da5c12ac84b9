// NumPy's .npy format, written.
#pragma once

#include <filesystem>

#include "quasar/graph/tensor.hpp"

namespace quasar::data {

// Version 1 of the format, little-endian, last axis fastest; bfloat16, which NumPy does not know, as float32. Throws Error for
// texts, 4-bit types and complex numbers.
void write_npy(const std::filesystem::path& file, const Tensor& array);

}  // namespace quasar::data
