#include "quasar/runtime/node_times.hpp"

#include <algorithm>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/temporary_space.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {

namespace fs = std::filesystem;

constexpr size_t runs_to_warm_up = 2, samples_in_turn = 8;
constexpr double least_row =
    0.12;  // several times as long as another model's threads wait for work, so that medians do not see it

// The node of the written model that a node of the optimized graph works for; nullptr: not to be seen from it alone.
class Owners {
 public:
  explicit Owners(const graph::Model& written) : written_(written) {}

  const graph::Node* owner(const graph::Node& node) const {
    if (const graph::Node* found = by_name(node.name)) return found;
    if (node.op_type.starts_with("Reorder")) return nullptr;  // a change of layout, whatever value comes out of it
    // Convolutions in blocks of channels are named after their result.
    constexpr std::string_view blocked = "_nchwc";
    std::vector<std::string> results = node.outputs;
    if (node.name.ends_with(blocked)) results.push_back(node.name.substr(0, node.name.size() - blocked.size()));
    for (const auto& result : results) {
      if (const graph::Node* producer = written_.producer(result)) return of_type(*producer, node.op_type);
    }
    return nullptr;
  }

 private:
  // "<node>", "<node>_token_<number>" (moved to another layout), "<node>/<fusion>".
  const graph::Node* by_name(const std::string& name) const {
    if (const graph::Node* same = written_.node(name)) return same;
    for (const std::string_view mark : {"_token_", "/"}) {
      const size_t at = name.rfind(mark);
      if (at == std::string::npos) continue;
      if (const graph::Node* found = written_.node(name.substr(0, at))) return found;
    }
    return nullptr;
  }

  // The last of what was fused that gave the fusion its type: "FusedMatMul" of a MatMul and what stands behind it.
  const graph::Node* of_type(const graph::Node& last, const std::string& type) const {
    constexpr int most_fused = 6;
    const graph::Node* node = &last;
    for (int i = 0; i < most_fused && node != nullptr; i++) {
      if (type.find(node->op_type) != std::string::npos) return node;
      const graph::Node* before = nullptr;
      for (const auto& input : node->inputs) {
        if (before == nullptr) before = written_.producer(input);
      }
      node = before;
    }
    return &last;
  }

  graph::Index written_;
};

// Names of the optimized graph's nodes -> names of the written model's nodes.
std::map<std::string, std::string> owners_of(const graph::Model& written, const graph::Model& optimized) {
  const Owners owners(written);
  const graph::Index index(optimized);
  std::map<std::string, std::string> out;
  const auto take = [&](const graph::Node& node, const graph::Node* neighbour) {
    if (neighbour == nullptr || out.contains(node.name)) return;
    if (const auto found = out.find(neighbour->name); found != out.end()) out[node.name] = found->second;
  };
  for (const auto& node : optimized.nodes) {
    if (const graph::Node* owner = owners.owner(node)) out[node.name] = owner->name;
  }
  for (auto node = optimized.nodes.rbegin(); node != optimized.nodes.rend(); ++node) {
    for (const auto& output : node->outputs) {
      for (const graph::Node* reader : index.consumers(output)) take(*node, reader);
    }
  }
  for (const auto& node : optimized.nodes) {
    for (const auto& input : node.inputs) take(node, index.producer(input));
  }
  return out;
}

// A model that is opened to be profiled.
class Profiled {
 public:
  Profiled(const graph::Model& model, int threads) : model_(model) {
    SessionOptions options;
    options.exact_sums = false;
    options.threads = threads;
    options.profile = folder_.path() / "profile";
    options.save_optimized = folder_.path() / "optimized.onnx";
    session_.emplace(model, options);
  }

  void run(const data::Sample& sample) { session_->run(sample); }

  NodeTimes times() {
    session_.reset();
    const auto owners = owners_of(model_, graph::load(folder_.path() / "optimized.onnx"));
    NodeTimes out;
    for (auto& [node, durations] : durations_by_node()) {
      const double time = median_of(std::move(durations));
      out.run += time;
      if (const auto owner = owners.find(node); owner != owners.end()) out.nodes[owner->second] += time;
    }
    return out;
  }

 private:
  std::map<std::string, std::vector<double>> durations_by_node() const {
    constexpr std::string_view of_kernel = "_kernel_time";
    std::map<std::string, std::vector<double>> out;
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      if (file.path().extension() != ".json") continue;
      for (const Json& event : parse_json(read_file(file.path()), "ONNX Runtime's profile")) {
        const std::string name = event.value("name", "");
        if (event.value("cat", "") == "Node" && name.ends_with(of_kernel))
          out[name.substr(0, name.size() - of_kernel.size())].push_back(event.value("dur", 0.0));
      }
    }
    return out;
  }

  const graph::Model& model_;
  const TemporaryFolder folder_;
  std::optional<Session> session_;
};

}  // namespace

std::vector<NodeTimes> node_times(std::span<const graph::Model* const> models, const data::Dataset& samples,
                                  const Effort& effort) try {
  if (samples.size() == 0) throw Error("times of nodes need at least one sample, but " + samples.source() + " has none");
  std::vector<std::unique_ptr<Profiled>> profiled;
  for (const graph::Model* model : models) profiled.push_back(std::make_unique<Profiled>(*model, effort.threads));
  std::vector<data::Sample> held;
  for (size_t i = 0; i < std::min(samples.size(), samples_in_turn); i++) held.push_back(samples.at(i));
  // In turns, for so many seconds.
  const auto run = [&](std::span<const std::unique_ptr<Profiled>> some, double at_least, double seconds) {
    const Stopwatch watch;
    const auto enough = [&](size_t runs) {
      return watch.seconds() >= seconds || (runs >= effort.turns + runs_to_warm_up && watch.seconds() >= at_least);
    };
    for (size_t i = 0; i < 1 || !enough(i); i++) {
      for (const auto& one : some) one->run(held[i % held.size()]);
    }
  };
  if (effort.threads == 1) {
    run(profiled, effort.at_least, effort.seconds);
  } else {
    for (const auto& one : profiled)
      run({&one, 1}, std::max(effort.at_least, least_row), effort.seconds / static_cast<double>(profiled.size()));
  }
  std::vector<NodeTimes> out;
  for (const auto& one : profiled) out.push_back(one->times());
  return out;
} catch (const fs::filesystem_error&) {
  require_temporary_space();
  throw Error("the times of operators cannot be measured: their profile cannot be read", Blame::world);
}

}  // namespace quasar::runtime
