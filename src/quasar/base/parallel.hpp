// Work spread over threads, with results that do not depend on their number.
#pragma once

#include <cstddef>
#include <functional>

namespace quasar {

// Calls work(i) once for every i in 0 … count-1 on up to `threads` threads (0: all cores). The order is not defined; write to
// slot i only. The first exception stops the rest and is thrown again here; so does Cancelled, when the caller's work is
// cancelled (base/cancellation.hpp).
void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace quasar
