// ONNX files written field by field in protobuf's wire format (https://protobuf.dev/programming-guides/encoding), so that the
// tests can make valid and broken files that no writer of ours would.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace quasar::graph::wire {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string number(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(static_cast<uint64_t>(value));
}
inline std::string bytes(int field, const std::string& value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}
inline std::string real(int field, float value) {
  return varint(static_cast<uint64_t>(field) << 3 | 5) + std::string(reinterpret_cast<const char*>(&value), 4);
}

struct Node {
  std::string op;
  std::initializer_list<std::string> inputs, outputs;
  std::string more = {};  // further fields of the NodeProto
};
inline std::string node(const Node& node) {
  std::string out;
  for (const auto& input : node.inputs) out += bytes(1, input);
  for (const auto& output : node.outputs) out += bytes(2, output);
  return bytes(1, out + bytes(4, node.op) + node.more);
}
inline std::string node_name(const std::string& name) {
  return bytes(3, name);
}
inline std::string attribute(const std::string& name, int type, const std::string& value) {
  return bytes(5, bytes(1, name) + value + number(20, type));
}

// The content of a TensorProto: type, dimensions and data fields.
inline std::string tensor(int type, std::initializer_list<int64_t> dims, const std::string& data) {
  std::string out = number(2, type) + data;
  for (const int64_t dim : dims) out += number(1, dim);
  return out;
}
inline std::string initializer(const std::string& name, const std::string& content) {
  return bytes(5, bytes(8, name) + content);
}
inline std::string external(const std::string& location, const std::string& more = {}) {
  return number(14, 1) + bytes(13, bytes(1, "location") + bytes(2, location)) + more;
}
inline std::string entry(const std::string& key, const std::string& value) {
  return bytes(13, bytes(1, key) + bytes(2, value));
}

inline std::string value(const std::string& name) {
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1)));
}
inline std::string input(const std::string& name) {
  return bytes(11, value(name));
}
inline std::string output(const std::string& name) {
  return bytes(12, value(name));
}

inline std::string model(const std::string& graph, int64_t ir = 8, int64_t opset = 13) {
  return number(1, ir) + bytes(8, number(2, opset)) + bytes(7, graph);
}
// A model with one more initializer or node, whose value 'w' is added to the input.
inline std::string model_with(const std::string& content) {
  return model(input("x") + output("y") + content + node({"Add", {"x", "w"}, {"y"}}));
}

}  // namespace quasar::graph::wire
