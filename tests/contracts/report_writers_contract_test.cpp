// Every report format: writes a search with everything and one with nothing, and two side by side; the same every time.
#include <gtest/gtest.h>

#include "quasar/report/contents.hpp"
#include "quasar/report/writer.hpp"
#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

TEST(ReportWriters, WriteWhatThereIs) {
  const Json full = contents_of(small_result(), grid_trials(), {{"n_trials", 12}});
  const Json bare = contents_of({{"status", "no_candidate"}, {"best", nullptr}}, {}, Json::object());
  ASSERT_FALSE(writers::table().items().empty());
  for (const auto& [name, entry] : writers::table().items()) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(entry.help.empty());
    const auto writer = writers::table().make(name);
    EXPECT_FALSE(writer->write({bare}).empty());
    EXPECT_FALSE(writer->write({full, bare}).empty());
    EXPECT_EQ(writer->write({full}), writers::table().make(name)->write({full}));
  }
}

}  // namespace
}  // namespace quasar::report
