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

std::string other_version(const search::StudyRecord& study, const std::string& onnxruntime) {
  std::string were, are;
  const auto compare = [&](const char* name, const char* key, const std::string& here) {
    const Json there = study.user_attributes.value(key, Json());
    if (!there.is_string() || there == here) return;
    were += (were.empty() ? "" : " and ") + std::string(name) + " " + there.get<std::string>();
    are += (are.empty() ? "" : " and ") + here;
  };
  compare("quasar", version_attribute, version());
  compare("ONNX Runtime", onnxruntime_attribute, onnxruntime);
  if (were.empty()) return "";
  return "the study '" + study.name + "' goes on with another version: its trials are of " + were + ", this is " + are +
         ". The same trial may have another score now; another study_name and output_dir begin a new one";
}

}  // namespace quasar::tune
