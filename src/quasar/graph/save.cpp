#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <system_error>
#include <unordered_set>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/system/mapping.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/model_proto.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/graph/skeleton.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace fs = std::filesystem;
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr size_t page = 4096;                 // offsets in the data file, so that readers can map it
constexpr size_t least_external_size = 1024;  // shapes and the like stay in the model, where shape inference looks for them

// A length-delimited field's key (https://protobuf.dev/programming-guides/encoding).
constexpr uint32_t key_of(int field) {
  return static_cast<uint32_t>(field) << 3 | 2;
}
constexpr uint32_t graph_key = key_of(onnx::ModelProto::kGraphFieldNumber);
constexpr uint32_t initializer_key = key_of(onnx::GraphProto::kInitializerFieldNumber);
constexpr uint32_t raw_key = key_of(onnx::TensorProto::kRawDataFieldNumber);

size_t varint_size(size_t value) {
  return CodedOutputStream::VarintSize64(value);
}
size_t field_size(uint32_t key, size_t length) {
  return varint_size(key) + varint_size(length) + length;
}

// A serialized TensorProto without its raw data, and these.
struct Weight {
  std::string header;
  std::span<const std::byte> raw;

  size_t size() const { return header.size() + (raw.empty() ? 0 : field_size(raw_key, raw.size())); }
};

// A serialized model in pieces: weights are written from where they are and never copied into a message.
struct Pieces {
  std::string model;  // without the graph
  std::string graph;  // without the initializers
  std::vector<Weight> weights;

  size_t graph_size() const {
    size_t size = graph.size();
    for (const auto& weight : weights) size += field_size(initializer_key, weight.size());
    return size;
  }
  size_t size() const { return model.size() + field_size(graph_key, graph_size()); }
};

void set_external(onnx::TensorProto& proto, const ExternalPlace& place) {
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const std::string& key, const std::string& value) {
    auto& written = *proto.add_external_data();
    written.set_key(key);
    written.set_value(value);
  };
  entry("location", place.location);
  entry("offset", std::to_string(place.offset));
  entry("length", std::to_string(*place.length));
}

// Where external tensors lie in the data file.
class DataFile {
 public:
  explicit DataFile(std::string location) : location_(std::move(location)) {}

  bool take(onnx::TensorProto& proto, const Tensor& tensor) {
    if (tensor.bytes().size() < least_external_size) return false;
    const size_t offset = (end_ + page - 1) / page * page;
    end_ = offset + tensor.bytes().size();
    tensors_.emplace_back(offset, tensor);
    set_external(proto, {location_, offset, tensor.bytes().size()});
    return true;
  }

  void write(const fs::path& path) const {
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    for (const auto& [offset, tensor] : tensors_) {
      out.seekp(static_cast<std::streamoff>(offset));
      out.write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.bytes().size()));
      if (end_ >= large_weights) quasar::page_out(tensor.bytes());
    }
    out.close();
    if (!out) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category());
  }

 private:
  std::string location_;
  size_t end_ = 0;
  std::vector<std::pair<size_t, Tensor>> tensors_;
};

// Takes a tensor out of the model, or leaves it there (false).
using Take = std::function<bool(onnx::TensorProto& header, const Tensor& tensor)>;

// `take`: empty where everything goes into the model.
Pieces pieces_of(const Model& model, const Take& take) {
  onnx::ModelProto proto;
  set_model(proto, model);
  Pieces out;
  out.graph = proto.graph().SerializeAsString();
  proto.clear_graph();
  out.model = proto.SerializeAsString();
  for (const auto& [name, tensor] : model.initializers) {
    onnx::TensorProto header;
    set_header(header, tensor);
    header.set_name(name);
    const bool external = take && take(header, tensor);
    out.weights.push_back({header.SerializeAsString(), external ? std::span<const std::byte>() : tensor.bytes()});
  }
  return out;
}

void write(const Pieces& pieces, google::protobuf::io::ZeroCopyOutputStream& stream) {
  CodedOutputStream out(&stream);
  const auto key = [&](uint32_t number, size_t length) {
    out.WriteVarint32(number);
    out.WriteVarint64(length);
  };
  out.WriteString(pieces.model);
  key(graph_key, pieces.graph_size());
  out.WriteString(pieces.graph);
  for (const auto& weight : pieces.weights) {
    key(initializer_key, weight.size());
    out.WriteString(weight.header);
    if (weight.raw.empty()) continue;
    key(raw_key, weight.raw.size());
    out.WriteRaw(weight.raw.data(), static_cast<int>(weight.raw.size()));
  }
}

void write_to(const fs::path& path, const Pieces& pieces) {
  OpenFile file(path, OpenFile::For::writing);
  if (!file.is_open()) throw std::system_error(errno, std::generic_category());
  google::protobuf::io::FileOutputStream stream(file.release(), 1 << 20);
  write(pieces, stream);
  const bool flushed = stream.Flush();
  if (!stream.Close() || !flushed) throw std::system_error(stream.GetErrno(), std::generic_category());
}

std::string bytes_of(const Pieces& pieces) {
  if (pieces.size() > protobuf_limit) {
    throw Error("the model takes " + std::to_string(pieces.size()) +
                " bytes, more than the 2 GB of an ONNX file without external data");
  }
  std::string bytes;
  bytes.reserve(pieces.size());
  google::protobuf::io::StringOutputStream stream(&bytes);
  write(pieces, stream);
  return bytes;
}

// By nodes, by the bodies that they have, and as outputs.
std::unordered_set<std::string> values_read(const Model& model) {
  std::unordered_set<std::string> out;
  for (const auto& output : model.outputs) out.insert(output.name);
  for (const auto& node : model.nodes) {
    out.insert(node.inputs.begin(), node.inputs.end());
    out.insert(node.captures.begin(), node.captures.end());
  }
  return out;
}

}  // namespace

std::string to_bytes(const Model& model) {
  return bytes_of(pieces_of(model, {}));
}

uintmax_t saved_bytes(const Model& model) {
  return pieces_of(model, {}).size();
}

Skeleton skeleton_of(const Model& model, size_t least_size) {
  Skeleton out;
  const std::unordered_set<std::string> read = values_read(model);
  const auto take = [&](onnx::TensorProto& header, const Tensor& tensor) {
    if (tensor.bytes().size() < least_size || bits_of(tensor.type()) < 8 || !read.contains(header.name())) return false;
    set_external(header, {"weights", 0, tensor.bytes().size()});
    out.weights.emplace_back(header.name(), tensor);
    return true;
  };
  out.bytes = bytes_of(pieces_of(model, take));
  return out;
}

void save(const Model& model, const fs::path& path, ExternalData external) {
  Pieces pieces = pieces_of(model, {});
  if (external == ExternalData::always || pieces.size() > protobuf_limit) {
    const fs::path data_path = path.string() + ".data";
    DataFile data(data_path.filename().string());
    pieces = pieces_of(model, [&](onnx::TensorProto& header, const Tensor& tensor) { return data.take(header, tensor); });
    if (pieces.size() > protobuf_limit) {
      throw Error("cannot write '" + path.string() + "': the model takes more than 2 GB even without its weights");
    }
    write_file(data_path, [&](const fs::path& temporary) { data.write(temporary); });
  }
  write_file(path, [&](const fs::path& temporary) { write_to(temporary, pieces); });
}

}  // namespace quasar::graph
