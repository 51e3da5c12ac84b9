#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <span>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/pipeline/layout.hpp"
#include "quasar/graph/pipeline/renamed.hpp"

namespace quasar::graph {
namespace {

// Smaller ones are worth no storing once, and stay each model's own.
constexpr size_t least_shared_bytes = 1024;

std::string in_words(const Value& value) {
  std::string out(name_of(value.type));
  if (!value.shape) return out;
  std::vector<std::string> sizes;
  for (size_t i = 0; i < value.shape->size(); ++i) {
    const std::string symbol = i < value.symbols.size() && !value.symbols[i].empty() ? value.symbols[i] : "?";
    sizes.push_back((*value.shape)[i] < 0 ? symbol : std::to_string((*value.shape)[i]));
  }
  return out + " [" + joined(sizes, ",") + "]";
}

// What is not known fits everything.
bool fits(const Value& from, const Value& to) {
  const bool known = from.type != DataType::undefined && to.type != DataType::undefined;
  if (known && from.type != to.type) return false;
  if (!from.shape || !to.shape) return true;
  const auto agree = [](int64_t one, int64_t other) { return one < 0 || other < 0 || one == other; };
  return std::ranges::equal(*from.shape, *to.shape, agree);
}

// Two inputs of one name are one input when nothing speaks against it.
bool are_one(const Value& one, const Value& other) {
  return one.type == other.type && one.shape == other.shape && one.symbols == other.symbols;
}

void check_names_of(const std::vector<Member>& members) {
  if (members.size() < 2) throw Error("a pipeline has two models and more; give a single one as model_input");
  std::set<std::string> known;
  for (const auto& member : members) {
    const bool valid = !member.name.empty() && std::ranges::all_of(member.name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
    if (!valid)
      throw Error("models: '" + member.name +
                  "' is no name for a model; letters, digits, _ and - are allowed, such as 'encoder'");
    if (!known.insert(member.name).second) throw Error("models: '" + member.name + "' is named twice");
    if (pipeline_of(member.model))
      throw Error("models." + member.name + ": '" + member.file.string() + "' is a pipeline already; give its models");
  }
}

// An input of the pipeline, and who reads it.
struct Entrance {
  Value own;              // as the first of its readers has it
  std::string part;       // that one
  bool is_alone = false;  // no other model may have it
  std::string value = {};
};

// Where an input comes from: an output of an earlier part, or an entrance.
struct Source {
  std::optional<std::pair<size_t, size_t>> output;  // part, and which of its outputs
  size_t entrance = 0;
};

class Joining {
 public:
  explicit Joining(const std::vector<Member>& members) : members_(members) {}

  Model run() {
    check_names_of(members_);
    for (const auto& member : members_) connect(member);
    name_entrances();
    name_outputs();
    raise();
    for (size_t k = 0; k < members_.size(); ++k) add(k);
    finish();
    return std::move(out_);
  }

 private:
  std::string key_of(const Member& member, const std::string& input) const {
    return "models." + member.name + ".inputs." + input;
  }

  void connect(const Member& member) {
    check_inputs(member);
    std::vector<Source> sources;
    for (const auto& input : member.model.inputs) {
      const auto said = member.inputs.find(input.name);
      if (said == member.inputs.end()) {
        sources.push_back(usual_source(member, input));
      } else if (!said->second) {
        sources.push_back(entrance_of(member, input, true));
      } else {
        sources.push_back(source_named(member, input, *said->second));
      }
    }
    sources_.push_back(std::move(sources));
  }

  static std::vector<std::string> names_in(const std::vector<Value>& values) {
    std::vector<std::string> out;
    for (const auto& value : values) out.push_back(value.name);
    return out;
  }

  void check_inputs(const Member& member) const {
    const std::vector<std::string> known = names_in(member.model.inputs);
    for (const auto& [name, from] : member.inputs) {
      if (std::ranges::find(known, name) == known.end())
        throw Error("models." + member.name + ".inputs: the model has no input '" + name + "'" + known_names(name, known));
    }
  }

  // Whether the model goes on where `earlier` ended: it is given that one's caches, and so has other tokens.
  static bool continues(const Member& member, const Member& earlier) {
    return std::ranges::any_of(member.model.inputs, [&](const Value& input) {
      const std::string present = cache_before(input.name);
      return !present.empty() && !member.inputs.contains(input.name) &&
             std::ranges::find(earlier.model.outputs, present, &Value::name) != earlier.model.outputs.end();
    });
  }

  // The output that becomes this input; "": it is no cache.
  static std::string cache_before(const std::string& input) {
    const std::string past = "past_key_values.";
    return input.starts_with(past) ? "present." + input.substr(past.size()) : "";
  }

  // The last earlier model with an output of the name, or of the cache that becomes this input.
  Source usual_source(const Member& member, const Value& input) {
    const std::string present = cache_before(input.name);
    for (size_t k = sources_.size(); k > 0; --k) {
      const auto& outputs = members_[k - 1].model.outputs;
      const auto found =
          std::ranges::find_if(outputs, [&](const Value& output) { return output.name == input.name || output.name == present; });
      if (found == outputs.end()) continue;
      check_fit(member, input, members_[k - 1].name + "." + found->name, *found);
      return {std::pair(k - 1, static_cast<size_t>(found - outputs.begin()))};
    }
    return entrance_of(member, input, false);
  }

  Source source_named(const Member& member, const Value& input, const std::string& from) {
    const std::string key = key_of(member, input.name);
    const size_t dot = from.find('.');
    const std::string name = from.substr(0, dot), value = dot == std::string::npos ? "" : from.substr(dot + 1);
    std::vector<std::string> names;
    for (const auto& one : members_) names.push_back(one.name);
    const auto found = std::ranges::find(members_, name, &Member::name);
    if (found == members_.end())
      throw Error(key + " is '" + from + "', but there is no model '" + name + "'" + known_names(name, names) +
                  "; write MODEL.OUTPUT, such as encoder.last_hidden_state");
    const auto k = static_cast<size_t>(found - members_.begin());
    if (k >= sources_.size())
      throw Error(key + " is '" + from + "', but " +
                  (k == sources_.size() ? "a model cannot read itself" : "'" + name + "' runs after '" + member.name + "'") +
                  ": models run in the order in which they are written, and none may wait for a later one (a cycle)");
    const auto& outputs = found->model.outputs;
    if (const auto output = std::ranges::find(outputs, value, &Value::name); output != outputs.end()) {
      check_fit(member, input, from, *output);
      return {std::pair(k, static_cast<size_t>(output - outputs.begin()))};
    }
    const auto& inputs = found->model.inputs;
    if (const auto other = std::ranges::find(inputs, value, &Value::name); other != inputs.end()) {
      check_fit(member, input, from, *other);
      return sources_[k][static_cast<size_t>(other - inputs.begin())];
    }
    throw Error(key + " is '" + from + "', but '" + name + "' has no output '" + value + "'" +
                known_names(value, names_in(outputs)));
  }

  void check_fit(const Member& member, const Value& input, const std::string& from, const Value& value) const {
    if (fits(value, input)) return;
    throw Error(key_of(member, input.name) + " comes from " + from + ", which is " + in_words(value) + ", but the input is " +
                in_words(input) + "; connect it to another output, or write null where samples hold it");
  }

  Source entrance_of(const Member& member, const Value& input, bool alone) {
    for (size_t i = 0; i < entrances_.size() && !alone; ++i) {
      const Entrance& known = entrances_[i];
      if (!known.is_alone && known.part != member.name && known.own.name == input.name && are_one(known.own, input) &&
          (input.name.starts_with("encoder_") || !continues(member, *std::ranges::find(members_, known.part, &Member::name))))
        return {.output = {}, .entrance = i};
    }
    entrances_.push_back({.own = input, .part = member.name, .is_alone = alone});
    return {.output = {}, .entrance = entrances_.size() - 1};
  }

  void name_entrances() {
    for (auto& entrance : entrances_) {
      const auto alike =
          std::ranges::count_if(entrances_, [&](const Entrance& other) { return other.own.name == entrance.own.name; });
      entrance.value = alike == 1 ? entrance.own.name : entrance.part + "." + entrance.own.name;
      taken_.insert(entrance.value);
    }
  }

  void name_outputs() {
    std::map<std::string, size_t> count;
    for (const auto& member : members_) {
      for (const auto& output : member.model.outputs) count[output.name]++;
    }
    for (const auto& member : members_) {
      std::vector<std::string> values;
      for (const auto& output : member.model.outputs) {
        const bool unique = count[output.name] == 1 && !taken_.contains(output.name);
        values.push_back(unique ? output.name : member.name + "." + output.name);
        taken_.insert(values.back());
      }
      outputs_.push_back(std::move(values));
    }
  }

  // One operator set for all; those of other domains must be alike where they are used.
  void raise() {
    int64_t highest = 0;
    for (const auto& member : members_) highest = std::max(highest, member.model.opset());
    for (const auto& member : members_) {
      try {
        models_.push_back(raise_opset(member.model, highest));
      } catch (const Error& e) {
        throw Error("models." + member.name + " has ONNX's operator set " + std::to_string(member.model.opset()) +
                    ", another has " + std::to_string(highest) + ", and one model has one: " + e.what() +
                    "; export both with the same one");
      }
      models_.back().inputs = member.model.inputs;
      models_.back().outputs = member.model.outputs;
      for (const auto& [domain, version] : member.model.opsets) import(member, domain, version);
    }
    out_.opsets[""] = highest;
  }

  void import(const Member& member, const std::string& domain, int64_t version) {
    if (domain.empty()) return;
    const auto [place, fresh] = out_.opsets.try_emplace(domain, version);
    if (fresh || place->second == version) return;
    const auto uses = [&](const Member& one) {
      return std::ranges::any_of(one.model.nodes, [&](const Node& node) { return node.domain == domain; });
    };
    if (std::ranges::all_of(members_, uses))
      throw Error("models." + member.name + " has operators of '" + domain + "' " + std::to_string(version) +
                  ", an earlier model those of " + std::to_string(place->second) + ", and one model has one");
    if (uses(member)) place->second = version;
  }

  std::string value_of(const Source& source) const {
    return source.output ? outputs_[source.output->first][source.output->second] : entrances_[source.entrance].value;
  }

  void add(size_t k) {
    const Member& member = members_[k];
    Model& model = models_[k];
    Part part{
        .name = member.name, .file = member.file.filename().string(), .inputs = {}, .outputs = {}, .metadata = model.metadata};
    std::map<std::string, std::string> known;
    for (size_t i = 0; i < model.inputs.size(); ++i) {
      known[model.inputs[i].name] = value_of(sources_[k][i]);
      part.inputs.push_back({plain(model.inputs[i]), known[model.inputs[i].name]});
    }
    for (size_t i = 0; i < model.outputs.size(); ++i) {
      const std::string value = known.try_emplace(model.outputs[i].name, outputs_[k][i]).first->second;
      part.outputs.push_back({plain(model.outputs[i]), value});
    }
    for (const auto& [name, tensor] : model.initializers) {
      if (const std::string* same = equal_weight(tensor)) known.try_emplace(name, *same);
    }
    const std::string prefix = member.name + "/";
    const auto before = [&](const std::string& name) { return prefix + name; };
    const auto value = [&](const std::string& name) {
      const auto found = known.find(name);
      return found == known.end() ? before(name) : found->second;
    };
    const auto before_it = std::span(members_).first(k);
    const bool goes_on = std::ranges::any_of(before_it, [&](const Member& earlier) { return continues(member, earlier); });
    take(renamed(
             std::move(model),
             {.value = value, .node = before, .symbol = [&](const std::string& symbol) { return member.name + "_" + symbol; }}),
         goes_on);
    pipeline_.parts.push_back(std::move(part));
  }

  // Without what only its own file has.
  static Value plain(Value value) {
    value.rest = nullptr;
    return value;
  }

  using Kind = std::pair<DataType, Shape>;

  const std::string* equal_weight(const Tensor& tensor) const {
    if (tensor.type() == DataType::string || tensor.bytes().size() < least_shared_bytes) return nullptr;
    const auto alike = weights_.find(Kind(tensor.type(), tensor.shape()));
    if (alike == weights_.end()) return nullptr;
    const auto same = std::ranges::find_if(alike->second, [&](const auto& name) { return out_.initializers.at(name) == tensor; });
    return same == alike->second.end() ? nullptr : &*same;
  }

  void take(Model model, bool goes_on) {
    std::ranges::move(model.nodes, std::back_inserter(out_.nodes));
    for (auto& [name, tensor] : model.initializers) {
      const auto [place, fresh] = out_.initializers.emplace(name, std::move(tensor));
      if (fresh && place->second.type() != DataType::string)
        weights_[Kind(place->second.type(), place->second.shape())].push_back(name);
    }
    for (const auto& input : model.inputs) {
      const auto is = [&](const Entrance& entrance) { return entrance.value == input.name; };
      if (std::ranges::any_of(entrances_, is) && std::ranges::find(out_.inputs, input.name, &Value::name) == out_.inputs.end())
        out_.inputs.push_back(input);
    }
    given_.insert(goes_on ? given_.end() : given_.begin(), model.outputs.begin(), model.outputs.end());
    out_.ir_version = std::max(out_.ir_version, model.ir_version);
    if (model.rest) rests_.push_back(model.rest);
  }

  // What the last model answers comes first, what only crosses last.
  void finish() {
    const std::vector<std::string> crossing = pipeline_.crossing();
    const auto crosses = [&](const Value& value) { return std::ranges::find(crossing, value.name) != crossing.end(); };
    std::ranges::stable_partition(given_, [&](const Value& value) { return !crosses(value); });
    out_.outputs = std::move(given_);
    onnx::ModelProto rest;
    rest.mutable_graph();
    for (const auto& bytes : rests_) {
      onnx::ModelProto own;
      if (!own.ParseFromString(*bytes)) throw Error("the rest of a model cannot be read");
      rest.mutable_graph()->mutable_value_info()->MergeFrom(own.graph().value_info());
    }
    rest.set_producer_name("quasar");
    out_.rest = std::make_shared<const std::string>(rest.SerializeAsString());
    write_layout(out_, pipeline_);
    verify(out_, "joining models");
  }

  const std::vector<Member>& members_;
  std::vector<std::vector<Source>> sources_;  // by part and input
  std::vector<Entrance> entrances_;
  std::vector<std::vector<std::string>> outputs_;  // by part and output: the value in the joined model
  std::set<std::string> taken_;
  std::vector<Model> models_;
  std::map<Kind, std::vector<std::string>> weights_;
  std::vector<std::shared_ptr<const std::string>> rests_;
  std::vector<Value> given_;
  Pipeline pipeline_;
  Model out_;
};

}  // namespace

Model join(const std::vector<Member>& members) {
  return Joining(members).run();
}

}  // namespace quasar::graph
