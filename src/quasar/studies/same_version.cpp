#include "quasar/studies/same_version.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/version.hpp"
#include "quasar/studies/attributes.hpp"

namespace quasar::tune {

void expect_same_version(const search::StudyRecord& study) {
  const Json there = study.user_attributes.value(version_attribute, Json());
  if (there == version()) return;
  const std::string theirs = there.is_string() ? there.get<std::string>() : "";
  throw Error("the search '" + study.name + "' is led by " +
              (theirs.empty() ? "an older version of quasar" : "quasar " + theirs) + ", and this is quasar " + version() +
              ": they may make different models of one trial. Install " +
              (theirs.empty() ? "the leader's version" : "version " + theirs) + " here, or " + version() + " there");
}

}  // namespace quasar::tune
