// What is known of the processor, for users of the library.
#include "quasar/base/system/processor.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {

std::string cpu_name() {
  return processor_name();
}

bool cpu_has_vnni() {
  return processor_has_vnni();
}

}  // namespace quasar::runtime
