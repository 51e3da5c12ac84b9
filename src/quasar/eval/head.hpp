// What a model answers: which task's head it ends in, as far as its graph, the shapes of its outputs and what they held tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::eval {

struct Head {
  std::string name;                       // "classes", "ctc", "yolov8" …; "": unknown
  std::string why;                        // the evidence in one sentence, or what an unknown head could be
  std::vector<std::string> outputs = {};  // that it is read from
  std::string metric = {};                // of agreement with the float model; "": none of its own
  Json decoder = nullptr;                 // of detectors, as the key `decoder` takes it
  std::string problem = {};               // why its metric is not there; "": it is, or it has none
  std::string suggested = {};             // that metric as the head itself tells it, where one of the user's takes its place

  bool is_known() const { return !name.empty(); }
};

// {name (null: unknown), why, outputs, metric (null: none), decoder and problem where there is one}.
Json to_json(const Head& head);

// The head, where all that is known speaks for one kind and nothing for another. Right rather than eager: the name is "" when no
// kind fits, when several do, and when what would decide cannot be seen. Throws Error for a model that ONNX Runtime cannot open.
Head head_of(const graph::Model& model, const Seen& seen = {});

// The same with what the model answers on the first samples, `most` of them. Throws Error when it cannot run them.
Head head_on(const graph::Model& model, const data::Dataset& samples, size_t most = 16);

// The head of a detector whose `decoder` the user has named himself.
Head head_by_decoder(const Json& decoder);

// What one kind of head says of a model: it is mine, or it could be.
struct Claim {
  Head head;
  bool sure = true;
};

class HeadKind {
 public:
  virtual ~HeadKind() = default;
  virtual std::optional<Claim> claim(const HeadFacts& facts) const = 0;
};

// A kind that is one function: `Entry<HeadKind> x() { return kind_of("…", claim_of_x); }`.
using ClaimFunction = std::optional<Claim> (*)(const HeadFacts& facts);
quasar::Entry<HeadKind> kind_of(std::string help, ClaimFunction claim);

}  // namespace quasar::eval

namespace quasar::eval::heads {
const Table<HeadKind>& table();
}
