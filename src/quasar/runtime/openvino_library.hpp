// OpenVINO's C library, looked for and opened when it is first asked for: nothing of Quasar is linked with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quasar::runtime::openvino {

// What OpenVINO's C API calls ov_shape_t, ov_profiling_info_t, ov_profiling_info_list_t and ov_version_t.
struct ShapeOf {
  int64_t rank;
  int64_t* dims;
};
struct ProfileOfNode {
  int status;
  int64_t real_time, cpu_time;
  const char* node;
  const char* kernel;
  const char* type;
};
struct ProfileOf {
  ProfileOfNode* nodes;
  size_t size;
};
struct VersionOf {
  const char* build;
  const char* description;
};

// The functions of its C API (2.0, since 2022.1) that are used here; a status of 0 is success. Handles are opaque.
struct Library {
  int (*core_create)(void** core);
  int (*core_read_model)(const void* core, const char* path, const char* weights, void** model);
  int (*core_read_model_from_memory)(const void* core, const char* text, size_t size, const void* weights, void** model);
  int (*core_compile_model)(const void* core, const void* model, const char* device, size_t arguments, void** compiled, ...);
  int (*core_get_property)(const void* core, const char* device, const char* key, char** value);
  void (*model_free)(void* model);
  int (*compiled_input_by_name)(const void* compiled, const char* name, void** port);
  int (*compiled_create_request)(const void* compiled, void** request);
  void (*compiled_free)(void* compiled);
  void (*port_free)(void* port);
  int (*request_set_tensor)(void* request, const char* name, const void* tensor);
  int (*request_get_tensor)(const void* request, const char* name, void** tensor);
  int (*request_infer)(void* request);
  int (*request_cancel)(void* request);
  int (*request_get_profile)(const void* request, ProfileOf* profile);
  void (*profile_free)(ProfileOf* profile);
  void (*request_free)(void* request);
  int (*tensor_from_host)(int type, ShapeOf shape, void* data, void** tensor);
  int (*tensor_shape)(const void* tensor, ShapeOf* shape);
  int (*tensor_type)(const void* tensor, int* type);
  int (*tensor_data)(const void* tensor, void** data);
  void (*tensor_free)(void* tensor);
  int (*shape_free)(ShapeOf* shape);
  const char* (*error_info)(int status);
  const char* (*last_error)();  // nullptr: the library is older than it (2023)
  int (*version)(VersionOf* version);
  void (*version_free)(VersionOf* version);
  void (*text_free)(const char* text);
};

// The environment variable that says where the library is: the file, the folder that it is in, or a folder with the wheel
// `openvino` in it.
inline constexpr const char* variable = "QUASAR_OPENVINO";

// The library's files that there are at a place as the variable names it, the likeliest first.
std::vector<std::filesystem::path> candidates_at(const std::filesystem::path& place);

// Opens what the variable names, or else what the system's loader knows, or else what `scripts/setup.sh --openvino` brought into
// the user's cache. Throws Error: nothing is there, or a file is no such library; the message says where was looked, and how to
// install it.
Library open_library();

// The one of this process, opened once. Throws as open_library(), each time.
const Library& library();

}  // namespace quasar::runtime::openvino
