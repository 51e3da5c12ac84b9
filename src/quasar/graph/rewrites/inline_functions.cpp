#include "quasar/graph/rewrites/inline_functions.hpp"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/graph/node_proto.hpp"

namespace quasar::graph {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Renaming = std::unordered_map<std::string, std::string>;  // of the values of one body

std::string title(const onnx::FunctionProto& function) {
  return "function " + function.name() + " of the domain '" + function.domain() + "'";
}

// Fields that ONNX's messages have had since 1.13 and 1.16, which older libraries keep unread.
constexpr int defaults_of_function = 11, overload_of_function = 13, overload_of_node = 8;

template <class Message>
std::vector<std::string> unread(const Message& message, int number) {
  std::vector<std::string> out;
  const google::protobuf::UnknownFieldSet& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      out.push_back(field.length_delimited());
  }
  return out;
}

template <class Message>
std::string overload_of(const Message& message, int number) {
  const auto found = unread(message, number);
  return found.empty() ? "" : found.back();
}

// What calls may become. A few bytes of calls within calls could fill any memory.
constexpr size_t deepest_call = 50, most_nodes = 250'000, most_bytes = INT32_MAX;

struct Function {
  const onnx::FunctionProto* proto = nullptr;
  size_t bytes = 0;                                                        // of the body
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> defaults = {};  // of attributes
};

Function function_of(const onnx::FunctionProto& proto) {
  Function out{&proto, proto.ByteSizeLong()};
  for (const auto& bytes : unread(proto, defaults_of_function)) {
    if (!out.defaults.Add()->ParseFromString(bytes)) throw Error(title(proto) + " cannot be read");
  }
  return out;
}

template <class Attribute, class Visit>
void for_each_graph(Attribute& attribute, const Visit& visit) {
  if constexpr (std::is_const_v<Attribute>) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  } else {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto& proto) : proto_(proto) {
    for (const auto& function : proto.functions()) {
      functions_[{domain_of(function.domain()), function.name(), overload_of(function, overload_of_function)}] =
          function_of(function);
    }
    note_names(proto.graph());
  }

  void run() {
    expand(*proto_.mutable_graph()->mutable_node());
    proto_.clear_functions();
    keep_used_imports();
  }

 private:
  void note_names(const onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) names_.insert(tensor.values().name());
    for (const auto& node : graph.node()) {
      names_.insert(node.name());
      names_.insert(node.output().begin(), node.output().end());
      for (const auto& attribute : node.attribute()) for_each_graph(attribute, [&](const auto& inner) { note_names(inner); });
    }
  }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    if (!names_.insert(name).second) {
      size_t& last = last_number_[wanted];
      do name = wanted + "_" + std::to_string(++last);
      while (!names_.insert(name).second);
    }
    spend(name.size());
    return name;
  }

  void spend(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > most_bytes) throw Error("the calls of its functions become more than the 2 GB that a model may have");
  }

  void spend_nodes(int count) {
    nodes_ += static_cast<size_t>(count);
    if (nodes_ > most_nodes) throw Error("the calls of its functions become more than " + std::to_string(most_nodes) + " nodes");
  }

  const Function* called_by(const onnx::NodeProto& node) const {
    const auto found = functions_.find({domain_of(node.domain()), node.op_type(), overload_of(node, overload_of_node)});
    return found == functions_.end() ? nullptr : &found->second;
  }

  void expand(Nodes& nodes) {
    Nodes out;
    for (auto& node : nodes) {
      for (auto& attribute : *node.mutable_attribute())
        for_each_graph(attribute, [&](onnx::GraphProto& inner) { expand(*inner.mutable_node()); });
      if (const Function* function = called_by(node)) {
        Nodes body = body_of(node, *function);
        expand(body);
        for (auto& inner : body) out.Add(std::move(inner));
        open_.pop_back();
      } else {
        out.Add(std::move(node));
      }
    }
    nodes.Swap(&out);
  }

  // The body's nodes with the names that they have in this call. Leaves the function on the stack of open calls.
  Nodes body_of(const onnx::NodeProto& call, const Function& called) {
    const onnx::FunctionProto& function = *called.proto;
    if (std::ranges::find(open_, &function) != open_.end()) throw Error(title(function) + " calls itself");
    if (open_.size() >= deepest_call)
      throw Error("calls of functions stand more than " + std::to_string(deepest_call) + " deep within each other, at " +
                  title(function));
    check_imports(function);
    spend_nodes(function.node_size());
    spend(called.bytes);
    open_.push_back(&function);
    const std::string prefix = (call.name().empty() ? call.op_type() : call.name()) + "/";
    Renaming values{{"", ""}};
    for (int i = 0; i < function.input_size(); ++i) values[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    Nodes copies;
    for (int i = 0; i < function.output_size(); ++i) {
      const bool read = i < call.output_size() && !call.output(i).empty();
      if (values.try_emplace(function.output(i), read ? call.output(i) : fresh(prefix + function.output(i))).second || !read)
        continue;
      passed_on(values.at(function.output(i)), call.output(i), prefix, copies);
    }
    for (const auto& node : function.node()) {
      for (const auto& output : node.output()) define(output, prefix, values);
    }
    Nodes body = function.node();
    const Call here{call, called, prefix};
    for (auto& node : body) rename(node, here, values);
    for (auto& copy : copies) body.Add(std::move(copy));
    return body;
  }

  // An output that is an input, or another output.
  void passed_on(const std::string& from, const std::string& to, const std::string& prefix, Nodes& copies) {
    onnx::NodeProto& copy = *copies.Add();
    copy.set_op_type("Identity");
    copy.set_name(fresh(prefix + "Identity"));
    copy.add_input(from);
    copy.add_output(to);
  }

  void define(const std::string& value, const std::string& prefix, Renaming& values) {
    if (!values.contains(value)) values[value] = fresh(prefix + value);
  }

  struct Call {
    const onnx::NodeProto& node;
    const Function& function;
    std::string prefix;  // of names
  };

  void rename(onnx::NodeProto& node, const Call& call, const Renaming& values) {
    node.set_name(fresh(call.prefix + (node.name().empty() ? node.op_type() : node.name())));
    const auto renamed = [&](std::string& value) {
      const auto found = values.find(value);
      if (found == values.end()) return;
      value = found->second;
      spend(value.size());
    };
    for (auto& input : *node.mutable_input()) renamed(input);
    for (auto& output : *node.mutable_output()) renamed(output);
    while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
    give_attributes(node, call);
    for (auto& attribute : *node.mutable_attribute()) {
      for_each_graph(attribute, [&](onnx::GraphProto& inner) { rename(inner, call, values); });
    }
  }

  void rename(onnx::GraphProto& graph, const Call& call, Renaming values) {
    const auto own = [&](std::string& value) {
      values.erase(value);
      define(value, call.prefix, values);
      value = values.at(value);
    };
    for (auto& input : *graph.mutable_input()) own(*input.mutable_name());
    for (auto& tensor : *graph.mutable_initializer()) own(*tensor.mutable_name());
    for (auto& tensor : *graph.mutable_sparse_initializer()) own(*tensor.mutable_values()->mutable_name());
    for (const auto& node : graph.node()) {
      for (std::string output : node.output()) {
        if (!output.empty()) own(output);
      }
    }
    for (auto& node : *graph.mutable_node()) rename(node, call, values);
    for (auto& output : *graph.mutable_output()) {
      if (const auto found = values.find(output.name()); found != values.end()) output.set_name(found->second);
    }
    graph.clear_value_info();
  }

  // Attributes that stand for one of the call's take its value, else the function's default; without either they are left out.
  void give_attributes(onnx::NodeProto& node, const Call& call) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> out;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) {
        out.Add(std::move(attribute));
        continue;
      }
      const auto is_meant = [&](const onnx::AttributeProto& one) { return one.name() == attribute.ref_attr_name(); };
      for (const auto* given : {&call.node.attribute(), &call.function.defaults}) {
        const auto found = std::ranges::find_if(*given, is_meant);
        if (found == given->end()) continue;
        onnx::AttributeProto& copy = *out.Add();
        spend(found->ByteSizeLong());
        copy = *found;
        copy.set_name(attribute.name());
        break;
      }
    }
    node.mutable_attribute()->Swap(&out);
  }

  void check_imports(const onnx::FunctionProto& function) {
    for (const auto& import : function.opset_import()) {
      const std::string domain = domain_of(import.domain());
      const auto same = [&](const onnx::OperatorSetIdProto& one) { return domain_of(one.domain()) == domain; };
      const auto found = std::ranges::find_if(proto_.opset_import(), same);
      if (found == proto_.opset_import().end()) {
        *proto_.add_opset_import() = import;
      } else if (found->version() != import.version() && !is_defined_here(domain)) {
        throw Error(title(function) + " imports version " + std::to_string(import.version()) + " of the operator set '" +
                    (domain.empty() ? "ai.onnx" : domain) + "', but the model imports version " +
                    std::to_string(found->version()) + ", which Quasar cannot join; convert the model to one version");
      }
    }
  }

  bool is_defined_here(const std::string& domain) const {
    return std::ranges::any_of(functions_, [&](const auto& item) { return std::get<0>(item.first) == domain; });
  }

  void note_domains(const onnx::GraphProto& graph, std::unordered_set<std::string>& domains) const {
    for (const auto& node : graph.node()) {
      domains.insert(domain_of(node.domain()));
      for (const auto& attribute : node.attribute())
        for_each_graph(attribute, [&](const auto& inner) { note_domains(inner, domains); });
    }
  }

  // Runtimes need not know domains that had functions only. A model that imports nothing else keeps them: it must import
  // something.
  void keep_used_imports() {
    std::unordered_set<std::string> used;
    note_domains(proto_.graph(), used);
    auto& imports = *proto_.mutable_opset_import();
    const auto is_idle = [&](const onnx::OperatorSetIdProto& import) {
      const std::string domain = domain_of(import.domain());
      return is_defined_here(domain) && !domain.empty() && !used.contains(domain);
    };
    if (!std::ranges::all_of(imports, is_idle))
      imports.erase(std::remove_if(imports.begin(), imports.end(), is_idle), imports.end());
  }

  onnx::ModelProto& proto_;
  std::map<std::tuple<std::string, std::string, std::string>, Function> functions_;  // by domain, name and overload
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, size_t> last_number_;  // behind names that were there already
  std::vector<const onnx::FunctionProto*> open_;
  size_t nodes_ = 0, bytes_ = 0;  // that calls have become
};

}  // namespace

void inline_functions(onnx::ModelProto& proto) {
  if (!proto.functions().empty()) Inliner(proto).run();
}

}  // namespace quasar::graph
