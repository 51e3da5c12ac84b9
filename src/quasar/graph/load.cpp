#include "quasar/graph/load.hpp"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <cstring>

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

[[noreturn]] void unreadable(const std::string& source) {
  throw Error("model '" + source + "' cannot be read: it is truncated, or not an ONNX file");
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
  if (!proto.ParseFromZeroCopyStream(&stream)) unreadable(source);
  return taken_apart(proto, source, fs::absolute(path).parent_path());
}

Model from_bytes(std::string_view bytes, const std::string& source, const fs::path& folder) {
  check_size(bytes.size(), source);
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) unreadable(source);
  return taken_apart(proto, source, folder);
}

}  // namespace quasar::graph
