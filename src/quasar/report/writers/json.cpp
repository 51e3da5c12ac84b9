// For programs: what every report shows, without pictures. One search is an object, two are a list.
#include "quasar/report/writer.hpp"

namespace quasar::report::writers {
namespace {

class JsonWriter final : public Writer {
 public:
  std::string write(const std::vector<Json>& searches) const override {
    Json out = searches;
    for (auto& contents : out) contents.erase("pictures");
    return (out.size() == 1 ? out.front() : out).dump(2) + "\n";
  }
};

}  // namespace

Entry<Writer> json() {
  return {"result, configuration and all trials, for programs (`quasar schema report`)", make_as<JsonWriter, Writer>};
}

}  // namespace quasar::report::writers
