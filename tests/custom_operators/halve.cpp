// A library of one operator for ONNX Runtime, as users have them: my.domain's Halve, half of a tensor of floats.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>

namespace {

struct Kernel {
  void Compute(OrtKernelContext* given) {
    const Ort::KernelContext context(given);
    const auto input = context.GetInput(0);
    const auto facts = input.GetTensorTypeAndShapeInfo();
    auto output = context.GetOutput(0, facts.GetShape());
    const auto* from = input.GetTensorData<float>();
    auto* to = output.GetTensorMutableData<float>();
    for (size_t i = 0; i < facts.GetElementCount(); i++) to[i] = 0.5F * from[i];
  }
};

struct Halve : Ort::CustomOpBase<Halve, Kernel> {
  void* CreateKernel(const OrtApi&, const OrtKernelInfo*) const { return new Kernel; }
  const char* GetName() const { return "Halve"; }
  size_t GetInputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
};

}  // namespace

extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  Ort::InitApi(base->GetApi(ORT_API_VERSION));
  static const Halve halve;
  static Ort::CustomOpDomain domain = [] {
    Ort::CustomOpDomain out("my.domain");
    out.Add(&halve);
    return out;
  }();
  Ort::UnownedSessionOptions(options).Add(domain);
  return nullptr;
}
