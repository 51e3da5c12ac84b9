// ONNX Runtime behind one class.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/device.hpp"

namespace quasar::runtime {

enum class Optimization { none, basic, extended, all };

struct SessionOptions {
  Optimization optimization = Optimization::all;
  int threads = 1;              // within one run
  Device device = {};           // nodes that it has no kernel for run on the cpu
  bool arena = true;            // false: no memory pool of its own, which keeps a megabyte and more per session
  bool runs = true;             // false: opened for what it says of the model, so that weights need not be laid out for kernels
  bool integer_kernels = true;  // false: Q/DQ stay, float simulation (session.disable_quant_qdq)
  // Sums of products are exact on every processor. false: as this processor's fastest kernels add, which without VNNI lose what
  // does not fit 16 bits: what users will see.
  bool exact_sums = true;
  // Pairs of int8 stay so where ONNX Runtime looks for integer kernels, as its library for Arm does; for x86-64 they become
  // uint8.
  bool signed_values = false;
  std::filesystem::path save_optimized = {};  // where ONNX Runtime writes the graph that it will run
  std::string disabled_optimizers = {};       // ';'-separated
  std::filesystem::path profile =
      {};  // where ONNX Runtime writes what each node took, once the session ends: "<this>_<time>.json"
};

// The runtime's version, "1.30.0".
QUASAR_API std::string version();
// The processor, as the system calls it, and whether it has VNNI instructions (u8×s8 sums without saturation).
QUASAR_API std::string cpu_name();
QUASAR_API bool cpu_has_vnni();
// Whether this processor's kernels compute something else than the model says: some sums of it can leave 16 bits
// (ops/overflow.hpp), and so many is all that the kernels have.
QUASAR_API bool sums_overflow_here(const graph::Model& model);

// Makes the operators of a shared library known to all sessions that this process opens from now on; a library that is known
// already changes nothing. It exports RegisterCustomOps(OrtSessionOptions*, const OrtApiBase*), as libraries for ONNX Runtime's
// register_custom_ops_library do. Throws Error with the path and ONNX Runtime's reason. Runs code of the library.
QUASAR_API void load_custom_operators(const std::filesystem::path& library);

// A model ready to run. run() may be called from several threads at once. The constructors throw Error with ONNX Runtime's
// message.
class QUASAR_API Session {
 public:
  explicit Session(const graph::Model& model, const SessionOptions& options = {});
  explicit Session(const std::filesystem::path& path, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // In the model's order. Opened from a file, scalars have no shape (ONNX Runtime does not tell them from an unknown rank).
  const std::vector<graph::Value>& inputs() const;
  const std::vector<graph::Value>& outputs() const;

  // One tensor per input, in order -> one per output, in order. Inputs are not copied; outputs share ONNX Runtime's memory and
  // may outlive the session. Throws Error that names the input which does not fit, or with ONNX Runtime's message.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  // Only the named outputs are computed.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const std::vector<std::string>& outputs) const;

  // Makes running and later run() calls end early with Cancelled; callable from any thread. A run ends likewise when the work of
  // the thread that called it is cancelled (base/cancellation.hpp).
  void cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quasar::runtime
