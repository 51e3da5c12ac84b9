#include "quasar/graph/files_of.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/graph/external_files.hpp"

namespace quasar::graph {
namespace fs = std::filesystem;
namespace {

using google::protobuf::internal::WireFormatLite;

// ONNX's messages that hold tensors, at whatever depth; entry: of a tensor's external_data.
enum class Message { model, graph, training, function, node, attribute, tensor, entry, other };

Message within(Message message, int field) {
  using enum Message;
  static const std::map<std::pair<Message, int>, Message> known{
      {{model, onnx::ModelProto::kGraphFieldNumber}, graph},
      {{model, onnx::ModelProto::kTrainingInfoFieldNumber}, training},
      {{model, onnx::ModelProto::kFunctionsFieldNumber}, function},
      {{training, onnx::TrainingInfoProto::kInitializationFieldNumber}, graph},
      {{training, onnx::TrainingInfoProto::kAlgorithmFieldNumber}, graph},
      {{function, onnx::FunctionProto::kNodeFieldNumber}, node},
      {{graph, onnx::GraphProto::kNodeFieldNumber}, node},
      {{graph, onnx::GraphProto::kInitializerFieldNumber}, tensor},
      {{node, onnx::NodeProto::kAttributeFieldNumber}, attribute},
      {{attribute, onnx::AttributeProto::kTFieldNumber}, tensor},
      {{attribute, onnx::AttributeProto::kTensorsFieldNumber}, tensor},
      {{attribute, onnx::AttributeProto::kGFieldNumber}, graph},
      {{attribute, onnx::AttributeProto::kGraphsFieldNumber}, graph},
      {{tensor, onnx::TensorProto::kExternalDataFieldNumber}, entry},
  };
  const auto found = known.find({message, field});
  return found == known.end() ? other : found->second;
}

// Goes through the bytes of a model; weights are skipped, not read.
class Search {
 public:
  explicit Search(google::protobuf::io::ZeroCopyInputStream* stream) : in_(stream) {}

  // The locations up to the end, or to where the bytes make no sense.
  std::set<std::string> locations() {
    message(Message::model, 0);
    return std::move(locations_);
  }

 private:
  // What one message says of itself.
  struct Said {
    std::string key, value;    // of an entry
    std::string location;      // of a tensor
    bool is_external = false;  // a tensor's data lies there
  };

  static constexpr int deepest = 100;  // as protobuf

  bool message(Message kind, int depth, Said* out = nullptr) {
    if (depth > deepest) return false;
    Said said;
    while (const uint32_t tag = in_.ReadTag()) {
      if (!field(kind, tag, depth, said)) return false;
    }
    if (said.is_external) locations_.insert(said.location);
    if (out != nullptr && said.key == "location") out->location = said.value;
    return in_.ConsumedEntireMessage();
  }

  bool field(Message kind, uint32_t tag, int depth, Said& said) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const bool delimited = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const Message inner = within(kind, number);
    if (delimited && inner != Message::other) return part(inner, depth, said);
    if (delimited && kind == Message::entry && number <= onnx::StringStringEntryProto::kValueFieldNumber)
      return WireFormatLite::ReadBytes(&in_, number == onnx::StringStringEntryProto::kKeyFieldNumber ? &said.key : &said.value);
    if (kind == Message::tensor && number == onnx::TensorProto::kDataLocationFieldNumber && !delimited) {
      uint64_t place = 0;
      if (!in_.ReadVarint64(&place)) return false;
      said.is_external = place == onnx::TensorProto::EXTERNAL;
      return true;
    }
    return WireFormatLite::SkipField(&in_, tag);
  }

  bool part(Message kind, int depth, Said& said) {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return false;
    const auto limit = in_.PushLimit(length);
    if (!message(kind, depth + 1, &said)) return false;
    in_.PopLimit(limit);
    return true;
  }

  google::protobuf::io::CodedInputStream in_;
  std::set<std::string> locations_;
};

}  // namespace

std::map<std::string, fs::path> external_files_of(const fs::path& model) {
  const OpenFile file(model, OpenFile::For::reading);
  if (!file.is_open()) throw Error("cannot open model '" + model.string() + "': " + std::strerror(errno));
  google::protobuf::io::FileInputStream stream(file.number(), 1 << 20);
  const ExternalFiles files(fs::absolute(model).parent_path());
  std::map<std::string, fs::path> out;
  for (const auto& location : Search(&stream).locations()) {
    try {
      out[location] = files.path_of(location);
    } catch (const Error& e) {
      throw Error("model '" + model.string() + "': " + e.what(), e.blame());
    }
  }
  return out;
}

uintmax_t bytes_on_disk(const fs::path& model) {
  std::set<fs::path> files{fs::weakly_canonical(fs::absolute(model))};
  for (const auto& [location, file] : external_files_of(model)) files.insert(file);
  uintmax_t sum = 0;
  for (const auto& file : files) {
    std::error_code code;
    sum += fs::file_size(file, code);
    if (code) throw Error("cannot read '" + file.string() + "': " + code.message(), blame_of(code.value()));
  }
  return sum;
}

}  // namespace quasar::graph
