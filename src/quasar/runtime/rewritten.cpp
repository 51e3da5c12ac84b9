#include "quasar/runtime/rewritten.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/temporary_space.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::runtime {

graph::Model rewritten(const graph::Model& model, SessionOptions options) try {
  const TemporaryFolder folder;
  options.save_optimized = folder.path() / "rewritten.onnx";
  try {
    const Session session(model, options);
  } catch (const Error&) {
    require_temporary_space();  // while what was begun still takes its room: ONNX Runtime does not say that there is none
    throw;
  }
  return graph::load(options.save_optimized);
} catch (const std::filesystem::filesystem_error&) {
  require_temporary_space();
  throw;
}

}  // namespace quasar::runtime
