// Writes npy, npz and pb files for the tests.
#pragma once

#include <gtest/gtest.h>
#include <zip.h>

#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/data/dataset.hpp"
#include "unit/error_of.hpp"

namespace quasar::data {
using test::error_of;

inline std::string npy_text(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false) {
  std::string header =
      "{'descr': " + descr + ", 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string npy_text(const Shape& shape, const std::vector<T>& values) {
  std::string kind = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u";
  if (std::is_same_v<T, bool>) kind = "b";
  std::string tuple = "(";
  for (const int64_t size : shape) tuple += std::to_string(size) + ", ";
  return npy_text("'<" + kind + std::to_string(sizeof(T)) + "'", tuple + ")", raw(values));
}

using Members = std::vector<std::pair<std::string, std::string>>;

inline std::filesystem::path write_npz(const std::filesystem::path& path, const Members& members, bool compressed = false) {
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  for (const auto& [name, bytes] : members) {
    const zip_int64_t index =
        zip_file_add(zip, (name + ".npy").c_str(), zip_source_buffer(zip, bytes.data(), bytes.size(), 0), 0);
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  EXPECT_EQ(zip_close(zip), 0);
  return path;
}

inline graph::Value input_of(const std::string& name, DataType type, std::optional<Shape> shape) {
  return {.name = name, .type = type, .shape = std::move(shape)};
}

// "" when every part is in the text, else what is missing: for EXPECT_EQ(missing(...), "").
inline std::string missing(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    if (text.find(part) == std::string::npos) return "'" + part + "' is not in: " + text;
  }
  return "";
}

}  // namespace quasar::data
