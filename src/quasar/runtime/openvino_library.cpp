#include "quasar/runtime/openvino_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/system/shared_library.hpp"
#include "quasar/runtime/user_cache.hpp"

namespace quasar::runtime::openvino {
namespace fs = std::filesystem;
namespace {

constexpr const char* file_name = "libopenvino_c.so";
constexpr const char* cure =
    "; install it by `pip install openvino` and name its folder in QUASAR_OPENVINO (in Python nothing need be named), or by "
    "scripts/setup.sh --openvino";

// Finds the functions by their names; the first that is missing is an error.
class Symbols {
 public:
  Symbols(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}

  template <class Function>
  void find(Function& function, const char* name) const {
    if (!may_find(function, name))
      throw Error("'" + file_ + "' is not the C library of OpenVINO 2022.1 or newer: it has no function " + name);
  }

  template <class Function>
  bool may_find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(find_in_library(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_;
  std::string file_;
};

Library functions_of(const Symbols& symbols) {
  Library out{};
  symbols.find(out.core_create, "ov_core_create");
  symbols.find(out.core_read_model, "ov_core_read_model");
  symbols.find(out.core_read_model_from_memory, "ov_core_read_model_from_memory_buffer");
  symbols.find(out.core_compile_model, "ov_core_compile_model");
  symbols.find(out.core_get_property, "ov_core_get_property");
  symbols.find(out.model_free, "ov_model_free");
  symbols.find(out.compiled_input_by_name, "ov_compiled_model_input_by_name");
  symbols.find(out.compiled_create_request, "ov_compiled_model_create_infer_request");
  symbols.find(out.compiled_free, "ov_compiled_model_free");
  symbols.find(out.port_free, "ov_output_const_port_free");
  symbols.find(out.request_set_tensor, "ov_infer_request_set_tensor");
  symbols.find(out.request_get_tensor, "ov_infer_request_get_tensor");
  symbols.find(out.request_infer, "ov_infer_request_infer");
  symbols.find(out.request_cancel, "ov_infer_request_cancel");
  symbols.find(out.request_get_profile, "ov_infer_request_get_profiling_info");
  symbols.find(out.profile_free, "ov_profiling_info_list_free");
  symbols.find(out.request_free, "ov_infer_request_free");
  symbols.find(out.tensor_from_host, "ov_tensor_create_from_host_ptr");
  symbols.find(out.tensor_shape, "ov_tensor_get_shape");
  symbols.find(out.tensor_type, "ov_tensor_get_element_type");
  symbols.find(out.tensor_data, "ov_tensor_data");
  symbols.find(out.tensor_free, "ov_tensor_free");
  symbols.find(out.shape_free, "ov_shape_free");
  symbols.find(out.error_info, "ov_get_error_info");
  symbols.may_find(out.last_error, "ov_get_last_err_msg");
  symbols.find(out.version, "ov_get_openvino_version");
  symbols.find(out.version_free, "ov_version_free");
  symbols.find(out.text_free, "ov_free");
  return out;
}

// nullopt: there is no such library for the loader, which says why.
std::optional<Library> opened(const std::string& file, std::string& why) {
  void* const handle = quasar::open_library(file, why);
  return handle == nullptr ? std::nullopt : std::optional(functions_of({handle, file}));
}

// What the user named must be it.
Library named_library(const fs::path& place) {
  const std::string named = std::string(variable) + " is '" + place.string() + "', but ";
  if (!fs::exists(place)) throw Error(named + "there is no such file or folder" + cure);
  const std::vector<fs::path> files = candidates_at(place);
  if (files.empty()) throw Error(named + "there is no " + file_name + " in it, nor in libs or openvino/libs below it" + cure);
  std::string why;
  if (auto found = opened(files.front().string(), why)) return *found;
  throw Error(named + "it cannot be opened: " + why);
}

}  // namespace

std::vector<fs::path> candidates_at(const fs::path& place) {
  std::error_code none;
  if (!fs::is_directory(place, none)) return fs::exists(place, none) ? std::vector{place} : std::vector<fs::path>();
  std::vector<fs::path> out;
  for (const fs::path& folder : {place, place / "libs", place / "openvino" / "libs"}) {
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (entry.path().filename().string().starts_with(file_name)) out.push_back(entry.path());
    }
  }
  std::ranges::sort(out, [](const fs::path& a, const fs::path& b) { return a.filename() > b.filename(); });  // the newest
  return out;
}

Library open_library() {
  if (const char* const place = std::getenv(variable); place != nullptr && *place != '\0') return named_library(place);
  std::string why;
  if (auto found = opened(file_name, why)) return *found;
  const fs::path copy = user_cache() / "quasar" / "openvino";
  for (const auto& file : candidates_at(copy)) {
    if (auto found = opened(file.string(), why)) return *found;
  }
  throw Error("OpenVINO is not here: " + std::string(variable) + " is not set, and " + file_name +
              " is neither a library of the system nor in " + copy.string() + cure);
}

const Library& library() {
  static std::mutex guard;
  static std::optional<Library> known;
  const std::scoped_lock lock(guard);
  if (!known) known = open_library();
  return *known;
}

}  // namespace quasar::runtime::openvino
