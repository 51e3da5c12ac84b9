#include "quasar/runtime/observe_op.hpp"

#include <memory>

namespace quasar::runtime {
namespace {

class ObserveKernel {
 public:
  explicit ObserveKernel(size_t number) : number_(number) {}

  OrtStatusPtr ComputeV2(OrtKernelContext* raw) noexcept try {
    const Ort::KernelContext context(raw);
    const auto value = context.GetInput(0);
    if (Listener::of_this_thread == nullptr) return failed("nobody observes this run");
    Listener& listener = *Listener::of_this_thread;
    *context.GetOutput(0, {1}).GetTensorMutableData<int64_t>() = 0;
    return shown(value, listener);
  } catch (const std::exception& e) {
    return failed(e.what());
  }

 private:
  static OrtStatusPtr failed(const char* why) noexcept { return Ort::GetApi().CreateStatus(ORT_FAIL, why); }

  OrtStatusPtr shown(const Ort::ConstValue& value, Listener& listener) const noexcept try {
    const auto info = value.GetTensorTypeAndShapeInfo();
    const std::shared_ptr<const void> not_owned(std::shared_ptr<const void>(), value.GetTensorRawData());
    listener.see(number_,
                 Tensor(static_cast<DataType>(info.GetElementType()), info.GetShape(), not_owned, value.GetTensorRawData()));
    return nullptr;
  } catch (...) {
    listener.failure = std::current_exception();
    return failed("the observer ended the run");
  }

  size_t number_;
};

struct ObserveOp : Ort::CustomOpBase<ObserveOp, ObserveKernel, true> {
  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const noexcept try {
    const auto number = Ort::ConstKernelInfo(info).GetAttribute<int64_t>("number");
    *kernel = new ObserveKernel(static_cast<size_t>(number));
    return nullptr;
  } catch (const std::exception& e) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, e.what());
  }

  const char* GetName() const { return observe_type; }
  size_t GetInputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; }
  size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64; }
};

}  // namespace

thread_local Listener* Listener::of_this_thread = nullptr;

// Never destroyed, like the environment: sessions refer to it.
const Ort::CustomOpDomain& observe_operators() {
  static const Ort::CustomOpDomain& domain = []() -> const Ort::CustomOpDomain& {
    auto& made = *new Ort::CustomOpDomain(observe_domain);
    made.Add(new ObserveOp);
    return made;
  }();
  return domain;
}

}  // namespace quasar::runtime
