// Reports: one file per form in writers/.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/plugin.hpp"

namespace quasar::report {

class QUASAR_API Writer {
 public:
  virtual ~Writer() = default;
  // The report of one search, or of several side by side; contents as contents_of makes them.
  virtual std::string write(const std::vector<Json>& searches) const = 0;
};

}  // namespace quasar::report

namespace quasar::report::writers {
QUASAR_API const Table<Writer>& table();
}
