#include "quasar/eval/head.hpp"

#include "quasar/base/as_written.hpp"
#include "quasar/base/names.hpp"
#include "quasar/eval/decoder.hpp"

namespace quasar::eval {
namespace {

class FunctionKind final : public HeadKind {
 public:
  explicit FunctionKind(ClaimFunction function) : claim_(function) {}
  std::optional<Claim> claim(const HeadFacts& facts) const override { return claim_(facts); }

 private:
  ClaimFunction claim_;
};

std::string listed(const std::vector<Claim>& claims, const std::string& between) {
  std::vector<std::string> parts;
  for (const Claim& one : claims) parts.push_back(one.head.name + " (" + one.head.why + ")");
  return joined(parts, between);
}

Head unknown(const HeadFacts& facts, const std::vector<Claim>& sure, const std::vector<Claim>& possible) {
  if (sure.size() > 1) return {"", "a head of several kinds: " + listed(sure, ", and ")};
  if (!possible.empty()) return {"", "it could be " + listed(possible, ", or ")};
  std::vector<std::string> outputs;
  for (const auto& output : facts.outputs()) outputs.push_back(in_words(output));
  return {"", "no kind of head fits " + joined(folded(outputs))};
}

}  // namespace

Entry<HeadKind> kind_of(std::string help, ClaimFunction claim) {
  return {.help = std::move(help), .make = [claim](const Options&) { return std::make_unique<FunctionKind>(claim); }};
}

Head head_of(const graph::Model& model, const Seen& seen) {
  const HeadFacts facts(model, seen);
  std::vector<Claim> sure, possible;
  for (const auto& name : heads::table().names()) {
    auto claim = heads::table().make(name)->claim(facts);
    if (!claim) continue;
    if (!claim->head.metric.empty()) claim->head.metric = metric_text(claim->head.metric);
    (claim->sure ? sure : possible).push_back(std::move(*claim));
  }
  if (sure.size() == 1 && possible.empty()) return sure.front().head;
  if (sure.size() == 1) possible.insert(possible.begin(), sure.front());
  return unknown(facts, sure, possible);
}

Head head_by_decoder(const Json& decoder) {
  const std::string name = decoder.is_object()   ? decoder.value("name", "")
                           : decoder.is_string() ? decoder.get<std::string>()
                                                 : "";
  return {decoders::table().resolve(name), "the configuration names its decoder", {}, metric_text("mAP(truth=float)"), decoder};
}

Json to_json(const Head& head) {
  Json out{{"name", head.is_known() ? Json(head.name) : Json()},
           {"why", head.why},
           {"outputs", head.outputs},
           {"metric", head.metric.empty() ? Json() : Json(head.metric)}};
  if (!head.decoder.is_null()) out["decoder"] = head.decoder;
  if (!head.problem.empty()) out["problem"] = head.problem;
  return out;
}

}  // namespace quasar::eval
