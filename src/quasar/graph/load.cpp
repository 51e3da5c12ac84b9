#include "quasar/graph/load.hpp"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/graph/model_proto.hpp"

namespace quasar::graph {
namespace fs = std::filesystem;
namespace {

Model taken_apart(onnx::ModelProto& proto, const std::string& source, const fs::path& folder) {
  Model model;
  try {
    model = model_of(proto, folder);
  } catch (const Error& e) {
    throw Error("model '" + source + "': " + e.what(), e.blame());
  } catch (const fs::filesystem_error& e) {
    throw Error("model '" + source + "': " + e.what());
  }
  verify(model, "model '" + source + "'");
  return model;
}

void check_size(size_t size, const std::string& source) {
  if (size == 0) throw Error("model '" + source + "' is empty");
  if (size > protobuf_limit) {
    throw Error("model '" + source + "' has " + std::to_string(size) +
                " bytes; no ONNX file may exceed 2 GB (larger ones keep external data)");
  }
}

// Files that are given in a model's place, by what stands in them at this byte.
struct OtherFormat {
  size_t at;
  std::string_view mark;
  std::string_view words;
};

constexpr OtherFormat other_formats[] = {
    {4, "ORTM", "it is in ONNX Runtime's own format (.ort); give the .onnx file that it was made from"},
    {4, "TFL3", "it is a model of TensorFlow Lite; convert it to ONNX, with tf2onnx for one"},
    {0, "PK\x03\x04", "it is an archive, as .pt of PyTorch and .keras are; export the model to ONNX"},
    {0, "\x80\x02", "it is a pickle, as .pth of PyTorch is; export the model to ONNX"},
    {0, "\x89HDF", "it is HDF5, as .h5 of Keras is; convert it to ONNX, with tf2onnx for one"},
    {0, "version https://git-lfs", "it is a pointer of Git LFS, and not the file itself; fetch that with `git lfs pull`"},
    {0, "<?xml", "it is XML, as models of OpenVINO are; give the ONNX model"},
    {0, "<!DOCTYPE", "it is a web page, and not what was to be downloaded"},
    {0, "<!doctype", "it is a web page, and not what was to be downloaded"},
    {0, "<html", "it is a web page, and not what was to be downloaded"}};

constexpr size_t marked_bytes = 32;

// `begin`: the file's first marked_bytes, or all of a shorter one.
[[noreturn]] void unreadable(const std::string& source, std::string_view begin) {
  for (const auto& [at, mark, words] : other_formats) {
    if (begin.size() > at && begin.substr(at).starts_with(mark))
      throw Error("model '" + source + "' is not an ONNX file: " + std::string(words));
  }
  throw Error("model '" + source + "' cannot be read: it is truncated, or not an ONNX file");
}

std::string beginning_of(const fs::path& path) {
  std::string out(marked_bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<size_t>(file.gcount()));
  return out;
}

}  // namespace

// The stream hands protobuf small pieces, so that the weights exist once in memory.
Model load(const fs::path& path) {
  const std::string source = path.string();
  std::error_code code;
  if (fs::is_directory(path, code)) throw Error("model '" + source + "' is a folder, not an ONNX file");
  if (is_pipe(path)) throw Error("model '" + source + "' is a pipe, not an ONNX file");
  const OpenFile file(path, OpenFile::For::reading);
  if (!file.is_open()) throw Error("cannot open model '" + source + "': " + std::strerror(errno));
  google::protobuf::io::FileInputStream stream(file.number(), 1 << 20);
  check_size(fs::file_size(path), source);
  onnx::ModelProto proto;
  if (!proto.ParseFromZeroCopyStream(&stream)) unreadable(source, beginning_of(path));
  return taken_apart(proto, source, fs::absolute(path).parent_path());
}

Model from_bytes(std::string_view bytes, const std::string& source, const fs::path& folder) {
  check_size(bytes.size(), source);
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) unreadable(source, bytes.substr(0, marked_bytes));
  return taken_apart(proto, source, folder);
}

}  // namespace quasar::graph
