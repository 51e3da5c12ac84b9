#include "quasar/runtime/execution_provider.hpp"

#include <string>

namespace quasar::runtime {

void append_provider(Ort::SessionOptions& options, const Device& device) {
  if (device.is_cpu()) return;
  environment();
  const OrtApi& api = Ort::GetApi();
  OrtCUDAProviderOptionsV2* given = nullptr;
  Ort::ThrowOnError(api.CreateCUDAProviderOptions(&given));
  const auto release = [&api](OrtCUDAProviderOptionsV2* some) { api.ReleaseCUDAProviderOptions(some); };
  const std::unique_ptr<OrtCUDAProviderOptionsV2, decltype(release)> owner(given, release);
  const std::string index = std::to_string(device.index);
  const char* const keys[] = {"device_id", "use_tf32"};  // TF32 would round the float model's values too
  const char* const values[] = {index.c_str(), "0"};
  Ort::ThrowOnError(api.UpdateCUDAProviderOptions(given, keys, values, 2));
  options.AppendExecutionProvider_CUDA_V2(*given);
}

}  // namespace quasar::runtime
