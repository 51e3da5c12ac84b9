#include "quasar/quant/config/selection.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/config/quantizable.hpp"

namespace quasar::quant {
namespace {

using Names = std::set<std::string>;

struct ListKey {
  std::string key;
  Names Selection::*list;
  bool types;
};

const std::vector<ListKey>& list_keys() {
  static const std::vector<ListKey> all{{"OpTypesToQuantize", &Selection::op_types, true},
                                        {"NodesToQuantize", &Selection::nodes, false},
                                        {"InputNodes", &Selection::input_nodes, false},
                                        {"OutputNodes", &Selection::output_nodes, false},
                                        {"OpTypesToExcludeOutputQuantization", &Selection::open_op_types, true},
                                        {"NodesToExcludeOutputQuantization", &Selection::open_nodes, false}};
  return all;
}

const std::string between_key = "RemoveQDQBetweenOps";

std::string type_name(const std::string& key, const Json& value) {
  if (!value.is_string()) throw Error(key + ": " + value.dump() + " is not a name");
  return value.get<std::string>();
}

std::vector<std::string> texts_of(const std::string& key, const Json& value) {
  if (!value.is_array()) throw Error(key + " is " + value.dump() + ", but must be a list of names");
  std::vector<std::string> out;
  for (const auto& item : value) out.push_back(type_name(key, item));
  return out;
}

void require_node(const graph::Index& index, const std::string& key, const std::string& name) {
  if (index.node(name) != nullptr) return;
  std::vector<std::string> names;
  for (const auto& node : index.model().nodes) names.push_back(node.name);
  throw Error(key + " names '" + name + "', but the model has no such node" + did_you_mean(name, names));
}

// Every node from which one of these can be reached, or that can be reached from one, without these themselves.
Names beyond(const Names& ends, const graph::Index& index, bool upstream) {
  std::deque<const graph::Node*> open;
  for (const auto& name : ends) open.push_back(index.node(name));
  Names seen;
  const auto visit = [&](const graph::Node* node) {
    if (node != nullptr && !ends.contains(node->name) && seen.insert(node->name).second) open.push_back(node);
  };
  for (; !open.empty(); open.pop_front()) {
    const graph::Node& node = *open.front();
    if (upstream) {
      for (const auto& input : node.inputs) visit(index.producer(input));
    } else {
      for (const auto& output : node.outputs) {
        for (const graph::Node* reader : index.consumers(output)) visit(reader);
      }
    }
  }
  return seen;
}

}  // namespace

const std::vector<NameList>& name_lists() {
  static const std::vector<NameList> all = [] {
    std::vector<NameList> lists;
    for (const auto& item : list_keys()) {
      if (!item.types) lists.push_back({item.key, item.list});
    }
    return lists;
  }();
  return all;
}

std::vector<std::string> selection_keys() {
  std::vector<std::string> keys;
  for (const auto& item : list_keys()) keys.push_back(item.key);
  keys.push_back(between_key);
  return keys;
}

void parse_selection(Selection& selection, const std::string& key, const Json& value) {
  if (value.is_null()) return;
  if (key == between_key) {
    if (!value.is_array()) throw Error(key + " is " + value.dump() + ", but must be a list of pairs of operator types");
    for (const auto& pair : value) {
      const auto types = texts_of(key, pair);
      if (types.size() != 2) throw Error(key + ": " + pair.dump() + " is not a pair of operator types");
      selection.fused.insert(quantizable_type(key, types[0]) + " " + quantizable_type(key, types[1]));
    }
    return;
  }
  const auto found = std::ranges::find(list_keys(), key, &ListKey::key);
  for (const auto& name : texts_of(key, value)) {
    (selection.*found->list).insert(found->types ? selectable_type(key, name) : name);
  }
}

Json to_json(const Selection& selection) {
  Json words = Json::object();
  for (const auto& item : list_keys()) {
    if (const Names& names = selection.*item.list; !names.empty()) words[item.key] = names;
  }
  for (const auto& pair : selection.fused) {
    const size_t space = pair.find(' ');
    words[between_key].push_back({pair.substr(0, space), pair.substr(space + 1)});
  }
  return words;
}

std::map<std::string, std::string> left_out(const Selection& selection, const graph::Index& index) {
  for (const auto& list : name_lists()) {
    for (const auto& name : selection.*list.names) require_node(index, list.key, name);
  }
  std::map<std::string, std::string> out;
  for (const auto& name : beyond(selection.input_nodes, index, true)) out[name] = "before InputNodes";
  for (const auto& name : beyond(selection.output_nodes, index, false)) out[name] = "behind OutputNodes";
  for (const auto& node : index.model().nodes) {
    if (!selection.op_types.empty() && !selection.op_types.contains(node.op_type)) {
      out[node.name] = "not among OpTypesToQuantize";
    } else if (!selection.nodes.empty() && !selection.nodes.contains(node.name)) {
      out[node.name] = "not among NodesToQuantize";
    }
  }
  return out;
}

std::vector<std::string> exclusion_keys() {
  return {"NodesToExclude", "OpTypesToExclude", "SubgraphsToExclude"};
}

std::vector<Json> parse_exclusion(const std::string& key, const Json& value) {
  std::vector<Json> out;
  if (value.is_null()) return out;
  if (key != "SubgraphsToExclude") {
    for (const auto& name : texts_of(key, value)) out.push_back(key == "NodesToExclude" ? Json(name) : Json{{"op_type", name}});
    return out;
  }
  if (!value.is_array()) throw Error(key + " is " + value.dump() + ", but must be a list of [[starts], [ends]]");
  for (const auto& part : value) {
    if (!part.is_array() || part.size() != 2) throw Error(key + ": " + part.dump() + " is not [[starts], [ends]]");
    for (const auto& from : texts_of(key, part[0])) {
      for (const auto& to : texts_of(key, part[1])) out.push_back({{"from", from}, {"to", to}});
    }
  }
  return out;
}

}  // namespace quasar::quant
