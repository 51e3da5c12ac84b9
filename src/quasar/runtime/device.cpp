#include "quasar/runtime/device.hpp"

#include <algorithm>
#include <charconv>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::runtime {
namespace {

int index_of(const std::string& text, const Json& words) {
  int index = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (code != std::errc() || end != text.data() + text.size() || index < 0)
    throw Error("search_devices is " + words.dump() + ", but '" + text + "' is not the number of a device");
  return index;
}

// "cuda:0,1" -> cuda:0, cuda:1.
void read(std::vector<Device>& out, const std::string& text, const Json& words) {
  const size_t colon = text.find(':');
  const std::string kind = normalized(text.substr(0, colon));
  if (!execution_providers().contains(kind)) {
    std::vector<std::string> known;
    for (const auto& [name, provider] : execution_providers()) known.push_back(name);
    throw Error("search_devices is " + words.dump() + ", but must be cpu, or devices such as \"cuda:0,1\"" +
                known_names(kind, known));
  }
  if (colon == std::string::npos) return out.push_back({kind, 0});
  if (kind == "cpu") throw Error("search_devices is " + words.dump() + ", but the cpu is one device and has no number");
  for (size_t start = colon + 1; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    out.push_back({kind, index_of(text.substr(start, comma - start), words)});
    start = comma + 1;
  }
}

}  // namespace

const std::map<std::string, std::string>& execution_providers() {
  static const std::map<std::string, std::string> all{{"cpu", "CPUExecutionProvider"}, {"cuda", "CUDAExecutionProvider"}};
  return all;
}

std::string Device::name() const {
  if (library != Library::onnxruntime) return name_of(library);
  return is_cpu() ? kind : kind + ":" + std::to_string(index);
}

std::vector<Device> parse_devices(const Json& words) {
  std::vector<Device> out;
  for (const Json& item : words.is_array() ? words : Json::array({words})) {
    if (!item.is_string()) throw Error("search_devices is " + words.dump() + ", but must be a text such as cpu or \"cuda:0,1\"");
    read(out, item.get<std::string>(), words);
  }
  if (out.empty()) throw Error("search_devices is an empty list, but must name at least one device");
  for (const Device& device : out) {
    if (std::ranges::count(out, device) > 1) throw Error("search_devices names " + device.name() + " twice: " + words.dump());
  }
  return out;
}

DeviceRing::DeviceRing(std::vector<Device> devices) : devices_(std::move(devices)), on_it_(devices_.size(), 0) {}

DeviceRing::Loan DeviceRing::take() {
  const std::scoped_lock lock(guard_);
  size_t place = next_;
  for (size_t i = 1; i < devices_.size(); ++i) {
    const size_t other = (next_ + i) % devices_.size();
    if (on_it_[other] < on_it_[place]) place = other;
  }
  ++on_it_[place];
  next_ = (place + 1) % devices_.size();
  return {*this, place};
}

void DeviceRing::give_back(size_t place) {
  const std::scoped_lock lock(guard_);
  --on_it_[place];
}

}  // namespace quasar::runtime
