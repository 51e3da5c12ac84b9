#include "quasar/runtime/openvino.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <sstream>
#include <stop_token>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/runtime/messages.hpp"
#include "quasar/runtime/openvino_library.hpp"

namespace quasar::runtime::openvino {
namespace {

constexpr int cancelled = -13;  // its status of a run that was ended

// A handle that is given back.
using Handle = std::unique_ptr<void, std::function<void(void*)>>;

void expect(int status, const std::string& doing) {
  if (status == 0) return;
  const char* const said = library().last_error == nullptr ? nullptr : library().last_error();
  const std::string message = said == nullptr || *said == '\0' ? library().error_info(status) : said;
  throw Error("OpenVINO cannot " + doing + ": " + shortened(message));
}

// Never given back: its threads may outlive any order of destruction.
const void* core() {
  static const void* const one = [] {
    void* made = nullptr;
    expect(library().core_create(&made), "be started");
    return made;
  }();
  return one;
}

struct NamedType {
  DataType type;
  int number;  // ov_element_type_e
};
constexpr std::array types{NamedType{DataType::boolean, 1}, NamedType{DataType::bfloat16, 2}, NamedType{DataType::float16, 3},
                           NamedType{DataType::float32, 4}, NamedType{DataType::float64, 5},  NamedType{DataType::int8, 7},
                           NamedType{DataType::int16, 8},   NamedType{DataType::int32, 9},    NamedType{DataType::int64, 10},
                           NamedType{DataType::uint8, 16},  NamedType{DataType::uint16, 17},  NamedType{DataType::uint32, 18},
                           NamedType{DataType::uint64, 19}};

int number_of(const Tensor& tensor, const std::string& name) {
  const auto found = std::ranges::find(types, tensor.type(), &NamedType::type);
  if (found == types.end())
    throw Error("input '" + name + "' is of " + std::string(name_of(tensor.type())) + ", which cannot be given to OpenVINO");
  return found->number;
}

Handle model_in(const std::filesystem::path& file) {
  void* made = nullptr;
  expect(library().core_read_model(core(), file.string().c_str(), nullptr, &made), "open the model");
  return {made, library().model_free};
}

Handle model_of(const graph::Model& model) {
  if (graph::too_large_for_a_message(model)) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "model.onnx";
    graph::save(model, file, graph::ExternalData::always);
    return model_in(file);
  }
  void* made = nullptr;
  const std::string bytes = graph::to_bytes(model);
  expect(library().core_read_model_from_memory(core(), bytes.data(), bytes.size(), nullptr, &made), "open the model");
  return {made, library().model_free};
}

std::vector<graph::Value> given_inputs(const graph::Model& model) {
  std::vector<graph::Value> out;
  for (const auto& input : model.inputs) {
    if (model.initializer(input.name) == nullptr) out.push_back(input);
  }
  return out;
}

// For one run at a time, on one thread that is not bound to a core: trials beside each other would share one. A second stream of
// the same compiled model is no way to run two: with models of 16-bit codes it gave wrong values (2026.4).
// `profiled`: it takes down what its operations run in, which costs time.
Handle compiled(const void* model, bool profiled) {
  void* made = nullptr;
  expect(library().core_compile_model(core(), model, "CPU", 10, &made, "NUM_STREAMS", "1", "INFERENCE_NUM_THREADS", "1",
                                      "INFERENCE_PRECISION_HINT", "f32", "ENABLE_CPU_PINNING", "NO", "PERF_COUNT",
                                      profiled ? "YES" : "NO"),
         "compile the model");
  return {made, library().compiled_free};
}

// The end of a kernel's name: "brgconv_avx512_I8" -> "i8"; "undef" has none.
std::string type_in(const std::string& kernel) {
  const size_t at = kernel.rfind('_');
  std::string out = at == std::string::npos ? "" : kernel.substr(at + 1);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// What a run reads and writes: one thread at a time.
Handle request_of(const void* compiled) {
  void* made = nullptr;
  expect(library().compiled_create_request(compiled, &made), "run the model");
  return {made, library().request_free};
}

// The kernels are known before the first run.
std::multimap<std::string, std::string> types_in(const Handle& model) {
  const Handle made = compiled(model.get(), true), request = request_of(made.get());
  ProfileOf profile{};
  expect(library().request_get_profile(request.get(), &profile), "say what its operations compute in");
  std::multimap<std::string, std::string> out;
  for (const ProfileOfNode& one : std::span(profile.nodes, profile.size)) out.emplace(one.node, type_in(one.kernel));
  library().profile_free(&profile);
  return out;
}

}  // namespace

std::multimap<std::string, std::string> types_computed_in(const graph::Model& model) {
  return types_in(model_of(model));
}

std::multimap<std::string, std::string> types_computed_in(const std::filesystem::path& file) {
  return types_in(model_in(file));
}

std::string shortened(const std::string& message) {
  constexpr size_t most = 400;
  std::string out;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    const bool place = line.starts_with("Exception from ") || line.starts_with("Check '");
    line.erase(0, line.find_first_not_of(" \t\r"));
    if (place || line.empty()) continue;
    out += (out.empty() ? "" : " ") + line;
  }
  if (out.empty()) out = message;
  out = printable_name(out);
  return out.size() > most ? out.substr(0, most) + " …" : out;
}

std::string version() {
  VersionOf found{};
  expect(library().version(&found), "say its version");
  const std::string build = found.build == nullptr ? "unknown" : found.build;
  library().version_free(&found);
  return build.substr(0, build.find('-'));
}

void start() {
  core();
}

struct CompiledModel::Impl {
  Impl(const Handle& model, std::vector<graph::Value> its_inputs, std::vector<graph::Value> its_outputs, size_t at_once)
      : inputs(std::move(its_inputs)), outputs(std::move(its_outputs)) {
    for (size_t i = 0; i < at_once; ++i) {
      models.push_back(compiled(model.get(), false));
      free.push_back(request_of(models.back().get()));
    }
    for (const auto& input : inputs) {
      void* port = nullptr;
      if (library().compiled_input_by_name(models.front().get(), input.name.c_str(), &port) == 0) read.insert(input.name);
      if (port != nullptr) library().port_free(port);
    }
  }

  std::vector<graph::Value> inputs, outputs;
  std::set<std::string> read;  // the inputs that OpenVINO has kept: nodes read them
  std::vector<Handle> models;  // one for each run at once; before the requests, which they make
  std::mutex guard;
  std::condition_variable given_back;
  std::vector<Handle> free;  // requests that no run uses

  Handle take() {
    std::unique_lock lock(guard);
    given_back.wait(lock, [this] { return !free.empty(); });
    Handle out = std::move(free.back());
    free.pop_back();
    return out;
  }

  void give_back(Handle request) {
    {
      const std::scoped_lock lock(guard);
      free.push_back(std::move(request));
    }
    given_back.notify_one();
  }

  void set(void* request, const Tensor& tensor, const std::string& name) const {
    if (!read.contains(name)) return;
    static std::byte nothing{};
    std::vector<int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
    const auto bytes = tensor.bytes();
    // OpenVINO's interface takes input memory as writable, but only reads it.
    void* const data = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
    void* made = nullptr;
    expect(library().tensor_from_host(number_of(tensor, name), {static_cast<int64_t>(sizes.size()), sizes.data()}, data, &made),
           "take input '" + name + "'");
    const Handle held(made, library().tensor_free);
    expect(library().request_set_tensor(request, name.c_str(), made), "take input '" + name + "'");
  }

  // A copy: the next run writes to the same place.
  static Tensor get(const void* request, const std::string& name) {
    const std::string doing = "give output '" + name + "'";
    void* made = nullptr;
    expect(library().request_get_tensor(request, name.c_str(), &made), doing);
    const Handle held(made, library().tensor_free);
    int number = 0;
    ShapeOf shape{};
    void* data = nullptr;
    expect(library().tensor_type(made, &number), doing);
    expect(library().tensor_shape(made, &shape), doing);
    const Shape sizes(shape.dims, shape.dims + shape.rank);
    library().shape_free(&shape);
    const auto type = std::ranges::find(types, number, &NamedType::number);
    if (type == types.end()) throw Error("output '" + name + "' of the model is not a tensor of a type that Quasar knows");
    const size_t size = bytes_of(type->type, count_of(sizes));
    if (size > 0) expect(library().tensor_data(made, &data), doing);
    return Tensor::copy(type->type, sizes, data, size);
  }

  std::vector<Tensor> run(void* request, std::span<const Tensor> given) const {
    for (size_t i = 0; i < given.size(); ++i) set(request, given[i], inputs[i].name);
    const std::stop_callback by_work(current_cancellation(), [request] { library().request_cancel(request); });
    const int status = library().request_infer(request);
    throw_if_cancelled();
    if (status == cancelled) throw Cancelled("the run was cancelled");
    expect(status, "run the model");
    std::vector<Tensor> out;
    for (const auto& output : outputs) out.push_back(get(request, output.name));
    return out;
  }
};

CompiledModel::CompiledModel(const graph::Model& model, size_t at_once)
    : impl_(std::make_unique<Impl>(model_of(model), given_inputs(model), model.outputs, std::max<size_t>(at_once, 1))) {}

CompiledModel::CompiledModel(const std::filesystem::path& file, std::vector<graph::Value> inputs,
                             std::vector<graph::Value> outputs)
    : impl_(std::make_unique<Impl>(model_in(file), std::move(inputs), std::move(outputs), 1)) {}

CompiledModel::~CompiledModel() = default;

const std::vector<graph::Value>& CompiledModel::inputs() const {
  return impl_->inputs;
}

const std::vector<graph::Value>& CompiledModel::outputs() const {
  return impl_->outputs;
}

std::vector<Tensor> CompiledModel::run(std::span<const Tensor> inputs) const {
  throw_if_cancelled();
  check_inputs(impl_->inputs, inputs);
  Handle request = impl_->take();
  try {
    std::vector<Tensor> out = impl_->run(request.get(), inputs);
    impl_->give_back(std::move(request));
    return out;
  } catch (...) {
    impl_->give_back(std::move(request));
    throw;
  }
}

}  // namespace quasar::runtime::openvino
