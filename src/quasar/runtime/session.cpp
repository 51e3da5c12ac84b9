#include "quasar/runtime/session.hpp"

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/survive_abort.hpp"
#include "quasar/base/system/environment.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/graph/rewrites/plain_scales.hpp"
#include "quasar/graph/skeleton.hpp"
#include "quasar/ops/overflow.hpp"
#include "quasar/runtime/custom_operators.hpp"
#include "quasar/runtime/execution_provider.hpp"
#include "quasar/runtime/messages.hpp"
#include "quasar/runtime/observe_op.hpp"

namespace quasar::runtime {
namespace fs = std::filesystem;
namespace {

// Beyond this, weights of a model that ONNX Runtime optimized are written from where they are: a message would be two copies.
constexpr size_t worth_writing_beside = size_t{16} << 20;
// From so many bytes on, a session reads a weight where the model has it, instead of a copy.
constexpr size_t worth_sharing = size_t{16} << 10;

void ignore(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

}  // namespace

// Never destroyed: sessions in static objects may outlive any other order of destruction.
Ort::Env& environment() {
  static Ort::Env& env = []() -> Ort::Env& {
    if (OrtGetApiBase()->GetApi(ORT_API_VERSION) == nullptr) {
      throw Error("the installed ONNX Runtime " + version() + " is older than the one that Quasar was built for", Blame::setup);
    }
    // ONNX Runtime's own packages (1.29 and later) record what sessions do under ~/.cache and send it to Microsoft, from the
    // making of this object on. A user who sets the variable decides.
    set_unless_set("ORT_DISABLE_TELEMETRY", "1");
    return *new Ort::Env(ORT_LOGGING_LEVEL_FATAL, "quasar", ignore, nullptr);
  }();
  return env;
}

namespace {

Error failed(const std::string& doing, const Ort::Exception& e) {
  return Error("ONNX Runtime cannot " + doing + ": " + shortened(e.what()));
}

// Does `work`, in which ONNX Runtime is called. An assertion inside of it is a failure like any other, and not the program's end.
void contained(const std::string& doing, const std::function<void()>& work) {
  if (survives_abort(work)) return;
  throw Error("ONNX Runtime cannot " + doing + ": an assertion inside of it failed (its own words are on standard error)" +
              ", which is a fault of ONNX Runtime " + version() + " with this model");
}

GraphOptimizationLevel level_of(Optimization optimization) {
  constexpr std::array levels{ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED, ORT_ENABLE_ALL};
  return levels.at(static_cast<size_t>(optimization));
}

// What a session's options must know of its model.
struct ModelFacts {
  bool beside = false;    // what ONNX Runtime makes of it is written with weights in a file of their own
  bool observed = false;  // it has nodes of observe_domain
  // Sums may leave 16 bits on this processor. Weights are converted to uint8 then, for which kernels have wider sums.
  bool overflowing = false;
  // Q/DQ must stay as they are: ONNX Runtime's rewriting of them (1.32) knows no float16. It makes QLinearConcat with such
  // scales, which no kernel has, and int32 codes of biases by way of float16, in which they are lost. Or the model says so.
  bool pairs_stay = false;
};

Ort::SessionOptions ort_options(const SessionOptions& options, const ModelFacts& facts, bool exact) {
  Ort::SessionOptions out;
  out.SetGraphOptimizationLevel(level_of(options.optimization));
  out.SetIntraOpNumThreads(std::max(options.threads, 1));
  out.SetInterOpNumThreads(1);
  out.SetExecutionMode(ORT_SEQUENTIAL);
  // Threads that wait at full load are what users have, and so are timed.
  out.AddConfigEntry("session.intra_op.allow_spinning", options.threads > 1 ? "1" : "0");
  try {
    append_provider(out, options.device);
  } catch (const Ort::Exception& e) {
    throw Error("device " + options.device.name() + " cannot be used: " + shortened(e.what()));
  }
  if (!options.arena) out.DisableCpuMemArena();
  if (!options.runs) out.AddConfigEntry("session.disable_prepacking", "1");
  if (!options.integer_kernels || facts.pairs_stay) out.AddConfigEntry("session.disable_quant_qdq", "1");
  if (exact) out.AddConfigEntry("session.x64quantprecision", "1");
  if (options.signed_values) out.AddConfigEntry("session.qdqisint8allowed", "1");
  if (facts.observed) out.Add(observe_operators());
  for (const auto& library : custom_operator_libraries()) out.RegisterCustomOpsLibrary(library.c_str());
  if (!options.profile.empty()) out.EnableProfiling(options.profile.c_str());
  if (!options.disabled_optimizers.empty()) {
    out.AddConfigEntry("optimization.disable_specified_optimizers", options.disabled_optimizers.c_str());
  }
  if (!options.save_optimized.empty()) {
    out.SetOptimizedModelFilePath(options.save_optimized.c_str());
    if (facts.beside) {
      const std::string data = options.save_optimized.filename().string() + ".data";
      out.AddConfigEntry("session.optimized_model_external_initializers_file_name", data.c_str());
      out.AddConfigEntry("session.optimized_model_external_initializers_min_size_in_bytes", "1024");
    }
  }
  return out;
}

// ONNX Runtime (1.30) cannot open models with the option that also have operators on int8 values (QLinearConv …): they are opened
// without it.
template <class Open>
Ort::Session with_exact_sums_where_possible(bool wanted, const Open& open) {
  if (!wanted) return open(false);
  try {
    return open(true);
  } catch (const Ort::Exception&) {
    return open(false);
  }
}

// On x86 ONNX Runtime (1.30, 1.32) makes uint8 of int8 pairs. Of pairs that it has put around a Reshape of its own (opset 21) it
// forgets the output_dtype then, and refuses the model. Such models are opened with their pairs as they are.
template <class Open>
Ort::Session with_pairs_rewritten_where_possible(ModelFacts facts, const Open& open) {
  try {
    return open(facts);
  } catch (const Ort::Exception& e) {
    if (std::string_view(e.what()).find("does not match y_zero_point type") == std::string_view::npos) throw;
    facts.pairs_stay = true;
    return open(facts);
  }
}

// ONNX Runtime's element types have ONNX's numbers.
static_assert(static_cast<int>(DataType::float32) == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
static_assert(static_cast<int>(DataType::bfloat16) == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
static_assert(static_cast<int>(DataType::int4) == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4);

DataType type_of(ONNXTensorElementDataType type) {
  return static_cast<int>(type) <= static_cast<int>(DataType::int4) ? static_cast<DataType>(type) : DataType::undefined;
}

graph::Value value_of(std::string name, const Ort::TypeInfo& info) {
  graph::Value value{std::move(name)};
  if (info.GetONNXType() != ONNX_TYPE_TENSOR) return value;
  const auto tensor = info.GetTensorTypeAndShapeInfo();
  value.type = type_of(tensor.GetElementType());
  const size_t rank = tensor.GetDimensionsCount();
  if (rank == 0) return value;  // a scalar, or no rank known: this interface does not tell which
  value.shape = tensor.GetShape();
  std::vector<const char*> symbols(rank);
  tensor.GetSymbolicDimensions(symbols.data(), rank);
  value.symbols.assign(symbols.begin(), symbols.end());
  return value;
}

// Scalars, which value_of leaves open, as the model declares them.
void adopt_scalars(std::vector<graph::Value>& values, const std::vector<graph::Value>& declared) {
  for (auto& value : values) {
    for (const auto& known : declared) {
      if (known.name == value.name && !value.shape && known.shape && known.shape->empty()) value.shape = Shape{};
    }
  }
}

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> out;
  for (const auto& name : names) out.push_back(name.c_str());
  return out;
}

// A view of the tensor's bytes (texts are copied).
Ort::Value wrapped(const Tensor& tensor) {
  const auto type = static_cast<ONNXTensorElementDataType>(tensor.type());
  const Shape& shape = tensor.shape();
  if (tensor.type() == DataType::string) {
    Ort::AllocatorWithDefaultOptions allocator;
    Ort::Value value = Ort::Value::CreateTensor(allocator, shape.data(), shape.size(), type);
    const std::vector<const char*> texts = pointers(tensor.strings());
    value.FillStringTensor(texts.data(), texts.size());
    return value;
  }
  static const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  static std::byte nothing{};  // ONNX Runtime wants an address, even of no bytes
  const auto bytes = tensor.bytes();
  // ONNX Runtime's interface takes input memory as writable, but only reads it.
  void* data = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
  return Ort::Value::CreateTensor(memory, data, bytes.size(), shape.data(), shape.size(), type);
}

// What ZipMap makes, of a classifier's scores: no other operator makes maps of them.
bool is_of_maps(const Ort::Value& value) {
  const auto info = value.GetTypeInfo();
  return info.GetONNXType() == ONNX_TYPE_SEQUENCE &&
         info.GetSequenceTypeInfo().GetSequenceElementType().GetONNXType() == ONNX_TYPE_MAP;
}

// The result, its memory shared with ONNX Runtime's value (texts are copied).
Tensor unwrapped(Ort::Value value, const std::string& name) {
  const auto fail = [&name](const std::string& why) { throw Error("output '" + name + "' of the model is " + why); };
  if (is_of_maps(value))
    fail("a sequence of maps, made by ZipMap; convert the model without it (skl2onnx: options={id(model): {'zipmap': False}})");
  const char* const unknown = "not a tensor of a type that Quasar knows";
  if (!value.IsTensor()) fail(unknown);
  const auto info = value.GetTensorTypeAndShapeInfo();
  const DataType type = type_of(info.GetElementType());
  const Shape shape = info.GetShape();
  if (type == DataType::undefined) fail(unknown);
  if (type == DataType::string) {
    std::vector<std::string> texts(count_of(shape));
    for (size_t i = 0; i < texts.size(); ++i) texts[i] = value.GetStringTensorElement(i);
    return Tensor::strings(shape, std::move(texts));
  }
  auto owner = std::make_shared<Ort::Value>(std::move(value));
  const void* data = owner->GetTensorRawData();
  return Tensor(type, shape, std::move(owner), data);
}

}  // namespace

bool sums_overflow_here(const graph::Model& model) {
  if (cpu_has_vnni()) return false;
  const auto found = ops::overflows(model);
  return std::ranges::any_of(found, [](const ops::Overflow& node) { return node.overflowing > 0; });
}

void load_custom_operators(const std::filesystem::path& library) {
  add_operator_library(library);
}

std::string version() {
  return OrtGetApiBase()->GetVersionString();
}

namespace {

bool has_half_pairs(const graph::Model& model) {
  return std::ranges::any_of(model.nodes, [&](const graph::Node& node) {
    const bool is_pair = (node.is("QuantizeLinear") || node.is("DequantizeLinear")) && node.inputs.size() > 1;
    const Tensor* const scale = is_pair ? model.initializer(node.inputs[1]) : nullptr;
    return scale != nullptr && scale->type() == DataType::float16;
  });
}

bool has_to_keep_pairs(const graph::Model& model) {
  return has_half_pairs(model) || model.metadata.contains(graph::pairs_stay);
}

using Weights = std::vector<std::pair<std::string, Tensor>>;

void share_weights(Ort::SessionOptions& options, const Weights& weights) {
  std::vector<std::string> names;
  std::vector<Ort::Value> values;
  for (const auto& [name, tensor] : weights) {
    names.push_back(name);
    values.push_back(wrapped(tensor));
  }
  if (!names.empty()) options.AddExternalInitializers(names, values);
}

}  // namespace

struct Session::Impl {
  Weights weights;          // whose memory the session reads: it goes before them
  bool gives_back = false;  // freed memory, as it has large weights
  Ort::Session session{nullptr};
  std::vector<graph::Value> inputs, outputs;
  std::vector<std::string> input_names, output_names;
  std::stop_source stop;  // of all runs

  void open(const graph::Model& model, const SessionOptions& options);
  void open(const fs::path& path, const SessionOptions& options, const ModelFacts& facts);
  void describe();
  std::vector<Tensor> run(std::span<const Tensor> given, const std::vector<std::string>& wanted);
};

void Session::Impl::open(const graph::Model& model, const SessionOptions& options) {
  const size_t size = graph::weight_bytes(model);
  const ModelFacts facts{.beside = size > worth_writing_beside,
                         .observed = model.opsets.contains(observe_domain),
                         .overflowing = options.exact_sums && sums_overflow_here(model),
                         .pairs_stay = has_to_keep_pairs(model)};
  if (graph::too_large_for_a_message(model)) {
    const TemporaryFolder folder;  // may go once the session stands: ONNX Runtime holds what it has mapped
    graph::save(model, folder.path() / "model.onnx", graph::ExternalData::always);
    graph::page_out(model);  // the session has its own
    open(folder.path() / "model.onnx", options, facts);
    return;
  }
  gives_back = facts.beside;
  std::optional<KeepsNoLargeBlocks> sparing;  // ONNX Runtime copies weights, and copies them anew as its kernels want them
  if (gives_back) sparing.emplace();
  graph::Skeleton skeleton = graph::skeleton_of(model, worth_sharing);
  weights = std::move(skeleton.weights);
  try {
    contained("open the model", [&] {
      session = with_pairs_rewritten_where_possible(facts, [&](const ModelFacts& known) {
        return with_exact_sums_where_possible(known.overflowing, [&](bool exact) {
          Ort::SessionOptions all = ort_options(options, known, exact);
          share_weights(all, weights);
          return Ort::Session(environment(), skeleton.bytes.data(), skeleton.bytes.size(), all);
        });
      });
    });
    describe();
  } catch (const Ort::Exception& e) {
    throw failed("open the model", e);
  }
  adopt_scalars(inputs, model.inputs);
  adopt_scalars(outputs, model.outputs);
  if (gives_back) give_back_memory();
}

void Session::Impl::open(const fs::path& path, const SessionOptions& options, const ModelFacts& facts) {
  if (!fs::exists(path)) throw Error("model '" + path.string() + "' does not exist");
  try {
    contained("open '" + path.string() + "'", [&] {
      session = with_pairs_rewritten_where_possible(facts, [&](const ModelFacts& known) {
        return with_exact_sums_where_possible(known.overflowing, [&](bool exact) {
          return Ort::Session(environment(), path.c_str(), ort_options(options, known, exact));
        });
      });
    });
    describe();
  } catch (const Ort::Exception& e) {
    throw failed("open '" + path.string() + "'", e);
  }
}

void Session::Impl::describe() {
  Ort::AllocatorWithDefaultOptions allocator;
  for (size_t i = 0; i < session.GetInputCount(); ++i) {
    inputs.push_back(value_of(session.GetInputNameAllocated(i, allocator).get(), session.GetInputTypeInfo(i)));
  }
  for (size_t i = 0; i < session.GetOutputCount(); ++i) {
    outputs.push_back(value_of(session.GetOutputNameAllocated(i, allocator).get(), session.GetOutputTypeInfo(i)));
  }
  input_names = names_of(inputs);
  output_names = names_of(outputs);
}

std::vector<Tensor> Session::Impl::run(std::span<const Tensor> given, const std::vector<std::string>& wanted) {
  const auto stop_if_cancelled = [this] {
    throw_if_cancelled();
    if (stop.stop_requested()) throw Cancelled("the run was cancelled");
  };
  stop_if_cancelled();
  check_inputs(inputs, given);
  // An input that is an output too never goes through ONNX Runtime, which would return a view of the caller's memory.
  std::vector<Tensor> results(wanted.size());
  std::vector<std::string> names;
  std::vector<size_t> places;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto input = std::find(input_names.begin(), input_names.end(), wanted[i]);
    if (input != input_names.end()) {
      results[i] = given[static_cast<size_t>(input - input_names.begin())];
    } else {
      names.push_back(wanted[i]);
      places.push_back(i);
    }
  }
  if (names.empty()) return results;
  // The flag ends the run between two nodes, whether the session is cancelled or the work of this thread.
  Ort::RunOptions run_options;
  const auto terminate = [&run_options] { run_options.SetTerminate(); };
  const std::stop_callback by_session(stop.get_token(), terminate), by_work(current_cancellation(), terminate);
  try {
    std::vector<Ort::Value> values;
    for (const auto& tensor : given) values.push_back(wrapped(tensor));
    const auto in = pointers(input_names), out = pointers(names);
    std::vector<Ort::Value> computed;
    contained("run the model",
              [&] { computed = session.Run(run_options, in.data(), values.data(), in.size(), out.data(), out.size()); });
    for (size_t i = 0; i < computed.size(); ++i) results[places[i]] = unwrapped(std::move(computed[i]), names[i]);
  } catch (const Ort::Exception& e) {
    stop_if_cancelled();
    throw failed("run the model", e);
  }
  return results;
}

namespace {

// Nothing also of a file that cannot be read: opening it then says why, in the same words on every processor.
ModelFacts facts_of_file(const fs::path& path, const SessionOptions& options) {
  try {
    const graph::Model model = graph::load(path);
    return {.overflowing = options.exact_sums && sums_overflow_here(model), .pairs_stay = has_to_keep_pairs(model)};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Session::Session(const graph::Model& model, const SessionOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->open(model, options);
}

Session::Session(const fs::path& path, const SessionOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->open(path, options, facts_of_file(path, options));
}

Session::~Session() {
  const bool gives_back = impl_ && impl_->gives_back;
  impl_.reset();
  if (gives_back) give_back_memory();
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<graph::Value>& Session::inputs() const {
  return impl_->inputs;
}
const std::vector<graph::Value>& Session::outputs() const {
  return impl_->outputs;
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs) const {
  return impl_->run(inputs, impl_->output_names);
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs, const std::vector<std::string>& outputs) const {
  for (const auto& name : outputs) {
    const auto& known = impl_->output_names;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error("the model has no output '" + name + "'; it has " + joined(known) + did_you_mean(name, known));
  }
  return impl_->run(inputs, outputs);
}

void Session::cancel() {
  impl_->stop.request_stop();
}

}  // namespace quasar::runtime
