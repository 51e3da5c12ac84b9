#include "quasar/sensitivity/blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <unordered_map>

namespace quasar::tune {
namespace {

using Numbers = std::vector<size_t>;  // of nodes, ascending, or of values
using Marks = std::vector<bool>;      // by number

// Whether the node has a float constant of at least two dimensions: a Conv, a product, an embedding.
bool has_weights(const graph::Node& node, const graph::Model& model) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
    const Tensor* constant = model.initializer(input);
    return constant != nullptr && constant->type() == DataType::float32 && constant->shape().size() >= 2 && constant->count() > 1;
  });
}

bool shrinks(const graph::Node& node) {
  const auto strides = node.integers("strides");
  return (node.is("Conv") || node.is("MaxPool") || node.is("AveragePool")) &&
         std::any_of(strides.begin(), strides.end(), [](int64_t stride) { return stride > 1; });
}

// The graph in numbers. Constants are no values, and sizes do not depend on what they are the sizes of.
struct Wiring {
  struct Entry {
    Numbers reads, writes;
    bool weighted = false, shrinks = false, multiplies = false, asked_for = false;
  };
  std::vector<Entry> nodes;
  std::vector<Numbers> readers;  // by value: nodes, once for each time they read it
  Marks given;                   // by value: it is the model's input

  Wiring(const graph::Model& model, const std::set<std::string>& names) {
    std::unordered_map<std::string, size_t> numbers;
    const auto number = [&](const std::string& value) {
      const auto [found, fresh] = numbers.emplace(value, readers.size());
      if (fresh) {
        readers.emplace_back();
        given.push_back(true);  // until a node is found that writes it: nodes stand in topological order
      }
      return found->second;
    };
    for (const auto& node : model.nodes) {
      Entry entry{.reads = {},
                  .writes = {},
                  .weighted = has_weights(node, model),
                  .shrinks = shrinks(node),
                  .multiplies = node.is("Mul"),
                  .asked_for = names.contains(node.name)};
      for (const auto& values : {&node.inputs, &node.captures}) {
        for (const auto& value : *values) {
          if (value.empty() || model.initializer(value) != nullptr || node.is("Shape") || node.is("Size")) continue;
          entry.reads.push_back(number(value));
          readers[entry.reads.back()].push_back(nodes.size());
        }
      }
      for (const auto& value : node.outputs) {
        if (value.empty()) continue;
        entry.writes.push_back(number(value));
        given[entry.writes.back()] = false;
      }
      nodes.push_back(std::move(entry));
    }
  }
};

// The way along a stream: between which cuts each node stands.
class Walk {
 public:
  Walk(const Wiring& wiring, const Marks& stream) : wiring_(wiring), stream_(stream), live_(wiring.readers.size()) {
    for (const auto& nodes : wiring.readers) left_.push_back(nodes.size());
  }

  // What all of these first nodes of the stream read is the stream before them: a layer of attention on the model's input is a
  // branch as later ones are.
  void enter(const Numbers& part, const Numbers& first) {
    if (first.size() < 2) return;
    for (const size_t value : wiring_.nodes[first.front()].reads) {
      const auto reads_it = [&](size_t n) {
        return std::ranges::find(wiring_.nodes[n].reads, value) != wiring_.nodes[n].reads.end();
      };
      if (!std::ranges::all_of(first, reads_it)) continue;
      left_[value] = 0;
      for (const size_t n : part)
        left_[value] += stream_[n] ? static_cast<size_t>(std::ranges::count(wiring_.nodes[n].reads, value)) : 0;
      live(value, true);
    }
  }

  // By node: the number of cuts before it.
  Numbers run(const Numbers& part) {
    for (const size_t n : part) {
      if (stream_[n]) step(n);
    }
    Numbers before(wiring_.nodes.size());
    size_t passed = 0;
    for (const size_t n : part) {
      while (passed < cuts_.size() && cuts_[passed] <= n) passed++;
      before[n] = passed;
    }
    return before;
  }

  // Where the way ended: after this many cuts, with several values that others are to read.
  size_t cuts() const { return cuts_.size(); }
  bool frayed() const { return lives_ > 1; }

 private:
  void step(size_t n) {
    const auto& node = wiring_.nodes[n];
    if (node.shrinks && !branched_ && lives_ <= 1) cut_before(n);
    for (const size_t value : node.reads) {
      if (--left_[value] == 0) live(value, false);
    }
    for (const size_t value : node.writes) live(value, left_[value] > 0);
    if (!branched_ && lives_ > 1) {
      branched_ = true;
      branch_ = n;
      stretch_ = weighted_;
      weighted_ = false;
    }
    weighted_ = weighted_ || node.weighted;
    if (lives_ != 1 || !branched_) return;
    branched_ = false;
    if (node.multiplies) {  // a gate, or an activation function in several nodes, goes with the stretch in which it stands
      weighted_ = weighted_ || stretch_;
      return;
    }
    if (weighted_ && stretch_) cut_before(branch_);
    cut_before(n + 1);
  }

  void cut_before(size_t n) {
    cuts_.push_back(n);
    weighted_ = false;
  }

  // live_: values of the stream that are still to be read.
  void live(size_t value, bool now) {
    if (live_[value] == now) return;
    live_[value] = now;
    now ? lives_++ : lives_--;
  }

  const Wiring& wiring_;
  const Marks& stream_;
  Numbers left_, cuts_;  // cuts_: the nodes behind them, ascending
  Marks live_;
  size_t lives_ = 0, branch_ = 0;  // branch_: the first node of the branches
  bool branched_ = false;
  bool weighted_ = false, stretch_ = false;  // whether weights stand since the last cut or the branch; before the branch
};

// The nodes of `part` that are `first`, or read what such a node has made.
Marks behind(const Wiring& wiring, const Numbers& part, const Numbers& first) {
  Marks nodes(wiring.nodes.size()), values(wiring.readers.size());
  for (const size_t n : first) nodes[n] = true;
  for (const size_t n : part) {
    const auto& node = wiring.nodes[n];
    nodes[n] = nodes[n] || std::any_of(node.reads.begin(), node.reads.end(), [&](size_t value) { return values[value]; });
    for (const size_t value : node.writes) values[value] = nodes[n];
  }
  return nodes;
}

// Weighted nodes that read the model's inputs through none of their kind: where streams begin.
Numbers sources(const Wiring& wiring, const Numbers& part) {
  Numbers out;
  Marks fed = wiring.given, weighted(wiring.readers.size());
  for (const size_t n : part) {
    const auto& node = wiring.nodes[n];
    const auto any = [&](const Marks& marks) {
      return std::any_of(node.reads.begin(), node.reads.end(), [&](size_t value) { return marks[value]; });
    };
    const bool is_fed = any(fed), later = any(weighted);
    if (node.weighted && is_fed && !later) out.push_back(n);
    for (const size_t value : node.writes) {
      fed[value] = is_fed;
      weighted[value] = later || (node.weighted && is_fed);
    }
  }
  return out;
}

struct Division {
  std::vector<Numbers> blocks;
  Numbers loose;  // nodes that are of none: they go with what reads them
};

size_t size_of(const Division& division, const Wiring& wiring) {
  return static_cast<size_t>(std::ranges::count_if(division.blocks, [&](const Numbers& block) {
    return std::ranges::any_of(block, [&](size_t n) { return wiring.nodes[n].asked_for; });
  }));
}

Division best_division(const Wiring& wiring, const Numbers& part, size_t deeper);

constexpr size_t shared = SIZE_MAX;

// Nodes beside the stream go where all stand that read them, or else stay where they are: a mask in the block in which it is
// made.
void place(const Wiring& wiring, const Numbers& loose, Numbers& where, Numbers& owners) {
  for (size_t i = loose.size(); i-- > 0;) {
    size_t owner = shared, readers = 0;
    for (const size_t value : wiring.nodes[loose[i]].writes) {
      for (const size_t reader : wiring.readers[value])
        owner = readers++ == 0 || owner == owners[reader] ? owners[reader] : shared;
    }
    owners[loose[i]] = owner;
    if (owner != shared) where[loose[i]] = owner;
  }
}

// Along the stream that begins with `first`; what stands beside it may be one itself.
Division divided(const Wiring& wiring, const Numbers& part, const Numbers& first, size_t deeper) {
  const Marks stream = behind(wiring, part, first);
  Numbers beside;
  std::ranges::copy_if(part, std::back_inserter(beside), [&](size_t n) { return !stream[n]; });
  Division out = deeper > 0 ? best_division(wiring, beside, deeper - 1) : Division();
  if (size_of(out, wiring) < 2) out = {.blocks = {}, .loose = std::move(beside)};
  const Numbers loose = std::move(out.loose);

  Walk walk(wiring, stream);
  walk.enter(part, first);
  Numbers where = walk.run(part), owners(wiring.nodes.size(), shared);
  for (const size_t n : part) owners[n] = stream[n] ? where[n] : shared;
  place(wiring, loose, where, owners);

  std::vector<Numbers> along(walk.cuts() + 1);
  Marks taken(wiring.nodes.size());
  for (const auto& block : out.blocks) {
    for (const size_t n : block) taken[n] = true;
  }
  for (const size_t n : part) {
    if (!taken[n]) along[where[n]].push_back(n);
  }
  out.loose.clear();
  if (walk.frayed()) {
    out.loose = std::move(along.back());
    along.pop_back();
  }
  std::ranges::move(along, std::back_inserter(out.blocks));
  return out;
}

// How many streams may stand one beside the other, and how many beginnings are tried for each.
constexpr size_t depth = 2, most_sources = 16;

Division best_division(const Wiring& wiring, const Numbers& part, size_t deeper) {
  const Numbers starts = sources(wiring, part);
  if (starts.empty()) return {.blocks = {}, .loose = part};
  Division best = divided(wiring, part, starts, deeper);
  for (size_t i = 0; starts.size() > 1 && i < std::min(starts.size(), most_sources); i++) {
    Division other = divided(wiring, part, {starts[i]}, deeper);
    if (size_of(other, wiring) > size_of(best, wiring)) best = std::move(other);
  }
  return best;
}

}  // namespace

bool has_attention(const graph::Model& model) {
  const graph::Index index(model);
  constexpr size_t most_between = 4;  // masks, casts and changes of shape
  const auto mixes = [&](const std::string& value) {
    const graph::Node* node = index.producer(value);
    for (size_t i = 0; node != nullptr && i < most_between; i++) {
      if (node->is("Softmax")) return true;
      node = node->inputs.empty() ? nullptr : index.producer(node->inputs.front());
    }
    return false;
  };
  return std::ranges::any_of(model.nodes, [&](const graph::Node& node) {
    if (node.op_type == "Attention" || node.op_type == "MultiHeadAttention") return true;
    return node.is("MatMul") && std::ranges::all_of(node.inputs, [&](const auto& input) { return !model.initializer(input); }) &&
           std::ranges::any_of(node.inputs, mixes);
  });
}

std::vector<std::vector<std::string>> blocks_of(const graph::Model& model, const std::set<std::string>& nodes) {
  const Wiring wiring(model, nodes);
  Numbers all(model.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  Division division = best_division(wiring, all, depth);
  division.blocks.push_back(std::move(division.loose));
  std::vector<Numbers> blocks;
  for (Numbers& block : division.blocks) {
    std::erase_if(block, [&](size_t n) { return !wiring.nodes[n].asked_for; });
    if (!block.empty()) blocks.push_back(std::move(block));
  }
  std::ranges::sort(blocks, {}, [](const Numbers& block) { return block.front(); });
  std::vector<std::vector<std::string>> out;
  for (const Numbers& block : blocks) {
    auto& names = out.emplace_back();
    for (const size_t n : block) names.push_back(model.nodes[n].name);
  }
  return out;
}

}  // namespace quasar::tune
