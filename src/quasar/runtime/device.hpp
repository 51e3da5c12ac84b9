// Where a model runs: the processor, or an accelerator through one of ONNX Runtime's execution providers; and in which library.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"

namespace quasar::runtime {

// What runs models.
enum class Library { onnxruntime, openvino, qnn_htp };

struct QUASAR_API Device {
  std::string kind = "cpu";                // cpu or cuda
  int index = 0;                           // which of them; 0 for cpu
  Library library = Library::onnxruntime;  // others have one device of their own

  bool is_cpu() const { return kind == "cpu" && library == Library::onnxruntime; }  // ONNX Runtime's own
  std::string name() const;                                                         // "cpu", "cuda:1", "openvino", "qnn_htp"
  bool operator==(const Device&) const = default;
};

// By the name in a configuration (key runtime): "onnxruntime", "openvino" or "qnn_htp". Throws Error for other words.
QUASAR_API Library parse_library(const Json& word);
QUASAR_API std::string name_of(Library library);

// Why models cannot run in the library here, and how to install it; "": they can. Opens it.
QUASAR_API std::string obstacle_to(Library library);

// Whether the float model runs there as it does for users, so that candidates are compared with it there. Otherwise ONNX
// Runtime's CPU runs it.
bool runs_float(Library library);

// Whether times there are those of the processor that it stands for; a simulator's are not.
bool has_times(Library library);

// {library: "ONNX Runtime", version, device: "cpu"}: what runs models on this device. Throws Error where the library is missing.
QUASAR_API Json facts_of(const Device& device);

// "cpu", "cuda" (the first), "cuda:1", "cuda:0,1", or a list of these. Throws Error for other words and for a device given twice.
QUASAR_API std::vector<Device> parse_devices(const Json& words);

// The kinds of devices that there are, with ONNX Runtime's name for what runs models on each.
QUASAR_API const std::map<std::string, std::string>& execution_providers();

// The kinds of devices that sessions can be opened on here: {"cpu"} or {"cpu", "cuda"}.
QUASAR_API std::vector<std::string> device_kinds();

// Throws Error, which names the kinds that there are or says how to install the library, unless models can run on the device
// here: its execution provider is built in, its libraries are installed, and the device exists.
QUASAR_API void check_device(const Device& device);

// Lends devices to trials: the one with the fewest trials on it, in turn among equals. Thread-safe.
class QUASAR_API DeviceRing {
 public:
  // `devices` must not be empty.
  explicit DeviceRing(std::vector<Device> devices);

  // Given back at the end of its life.
  class Loan {
   public:
    Loan(DeviceRing& ring, size_t place) : ring_(ring), place_(place) {}
    ~Loan() { ring_.give_back(place_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    const Device& device() const { return ring_.devices_[place_]; }

   private:
    DeviceRing& ring_;
    size_t place_;
  };
  Loan take();

  size_t size() const { return devices_.size(); }
  const Device& first() const { return devices_.front(); }

 private:
  void give_back(size_t place);

  const std::vector<Device> devices_;
  std::mutex guard_;
  std::vector<size_t> on_it_;  // trials, by device
  size_t next_ = 0;
};

}  // namespace quasar::runtime
