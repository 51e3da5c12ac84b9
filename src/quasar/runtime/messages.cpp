#include "quasar/runtime/messages.hpp"

#include <algorithm>
#include <string_view>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::runtime {
namespace {

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  constexpr size_t longest = 400;
  return line.size() <= longest ? line : line.substr(0, longest) + " …";
}

// "Reshape node 'flat': ", cut out of "… while running Reshape node. Name:'flat' Status Message: …"; "" when there is none.
std::string take_node(std::string& text) {
  const std::string running = "while running ", name = ". Name:'", status = "' Status Message: ";
  const size_t type_at = text.find(running), name_at = text.find(name), status_at = text.find(status);
  if (type_at == std::string::npos || name_at == std::string::npos || status_at == std::string::npos) return "";
  const size_t type = type_at + running.size(), label = name_at + name.size();
  const std::string node = text.substr(type, name_at - type) + " '" + text.substr(label, status_at - label) + "': ";
  text.erase(0, status_at + status.size());
  return node;
}

// "LRN: size_ % 2 == 1 was false", cut out of "FILE:LINE onnxruntime::LRN<T>::LRN(…) [with T = float] size_ % 2 == 1 was false":
// of a check that has no words of its own.
std::string condition(const std::string& text) {
  const std::string with = " [with ";
  const size_t function = text.find("onnxruntime::"), arguments = text.find('(', function);
  if (function == std::string::npos || arguments == std::string::npos) return text;
  const std::string name = text.substr(function, arguments - function);
  const size_t types = text.find(with, arguments);
  const size_t end = types == std::string::npos ? text.find(") ", arguments) : text.find("] ", types);
  return end == std::string::npos ? text : name.substr(name.rfind("::") + 2) + ": " + text.substr(end + 2);
}

// What stands behind "/PATH/FILE:LINE RETURNED onnxruntime::FUNCTION(ARGUMENTS) " at the beginning, if that does.
std::string_view without_place(std::string_view text) {
  const size_t line = text.find(':'), function = text.find("onnxruntime::", line);
  if (!text.starts_with('/') || function == std::string_view::npos) return text;
  int depth = 0;
  for (size_t at = function; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return text.substr(std::min(text.size(), text.find_first_not_of(' ', at + 1)));
  }
  return text;
}

// Without "[ONNXRuntimeError] : 1 : FAIL : ", where a message stands in another one.
std::string_view without_codes(std::string_view text) {
  const size_t code = text.find("[ONNXRuntimeError] : ");
  if (code == std::string_view::npos) return text;
  const size_t word = text.find(" : ", text.find(" : ", code) + 3), end = text.find(" : ", word + 3);
  return end == std::string_view::npos ? text : text.substr(end + 3);
}

bool fits(const Shape& given, const std::optional<Shape>& wanted) {
  if (!wanted) return true;
  return std::equal(given.begin(), given.end(), wanted->begin(), wanted->end(),
                    [](int64_t g, int64_t w) { return w < 0 || g == w; });
}

// "float32 [N,3,128,128]".
std::string described(const graph::Value& value) {
  std::string text(name_of(value.type));
  if (!value.shape) return text;
  text += " [";
  for (size_t i = 0; i < value.shape->size(); ++i) {
    const int64_t size = (*value.shape)[i];
    const bool named = i < value.symbols.size() && !value.symbols[i].empty();
    text += (i > 0 ? "," : "") + (size >= 0 ? std::to_string(size) : named ? value.symbols[i] : "?");
  }
  return text + "]";
}

}  // namespace

std::string shortened(std::string text) {
  if (const size_t trace = text.find("\nStacktrace"); trace != std::string::npos) text.resize(trace);
  const std::string node = take_node(text);
  for (const std::string_view marker : {"was false. ", "Exception during initialization: "}) {
    const size_t at = text.rfind(marker);
    if (at == std::string::npos) continue;
    if (const size_t end = at + marker.size(); !one_line(std::string_view(text).substr(end)).empty()) {
      text.erase(0, end);
    } else if (marker.starts_with("was false")) {
      text = condition(text.substr(0, text.find('.', at)));
    }
  }
  std::string line = one_line(node + std::string(without_codes(without_place(text))));
  if (line.find("is under development") != std::string::npos) {
    if (line.ends_with('.')) line.pop_back();
    line += "; export the model with an older operator set";
  }
  return line;
}

std::vector<std::string> names_of(const std::vector<graph::Value>& values) {
  std::vector<std::string> out;
  for (const auto& value : values) out.push_back(value.name);
  return out;
}

void check_inputs(const std::vector<graph::Value>& wanted, std::span<const Tensor> given) {
  if (given.size() != wanted.size()) {
    throw Error("the model has " + std::to_string(wanted.size()) + " inputs (" + joined(names_of(wanted)) + "), but " +
                std::to_string(given.size()) + " were given");
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].type == DataType::undefined) {
      throw Error("input '" + wanted[i].name + "' of the model is not a tensor of a type that Quasar knows");
    }
    if (given[i].type() == wanted[i].type && fits(given[i].shape(), wanted[i].shape)) continue;
    throw Error("input '" + wanted[i].name + "' of the model takes " + described(wanted[i]) + ", but " +
                std::string(name_of(given[i].type())) + " " + to_string(given[i].shape()) + " was given");
  }
}

}  // namespace quasar::runtime
