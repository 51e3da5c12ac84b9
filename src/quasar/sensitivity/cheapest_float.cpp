#include "quasar/sensitivity/cheapest_float.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <limits>

#include "quasar/sensitivity/conversion_costs.hpp"

namespace quasar::tune {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<boost::vertex_index_t, size_t,
                    boost::property<boost::vertex_color_t, boost::default_color_type,
                                    boost::property<boost::vertex_distance_t, long,
                                                    boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>>,
    boost::property<boost::edge_capacity_t, double,
                    boost::property<boost::edge_residual_capacity_t, double,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr double forced = std::numeric_limits<float>::max();

// What is quantized stands with the source, what stays in float with the sink.
class Cut {
 public:
  Cut() : network_(2) {}

  size_t add() { return boost::add_vertex(network_); }
  void cost(size_t vertex, double quantized, double in_float) {
    connect(source, vertex, in_float);
    connect(vertex, sink, quantized);
  }
  void stays_in_float(size_t vertex) { connect(vertex, sink, forced); }

  // Costs once when `from` is quantized and any of the others is in float, or the other way round.
  void conversion(size_t from, const std::vector<size_t>& readers, double entering, double leaving) {
    const size_t left = add(), entered = add();
    connect(from, left, leaving);
    connect(entered, from, entering);
    for (const size_t reader : readers) {
      connect(left, reader, forced);
      connect(reader, entered, forced);
    }
  }

  // Of each vertex, whether it is with the sink.
  std::vector<bool> in_float() {
    boost::boykov_kolmogorov_max_flow(network_, source, sink);
    std::vector<bool> out;
    const auto colors = boost::get(boost::vertex_color, network_);
    for (size_t i = 0; i < boost::num_vertices(network_); i++) out.push_back(colors[i] == boost::white_color);
    return out;
  }

 private:
  static constexpr size_t source = 0, sink = 1;

  void connect(size_t from, size_t to, double capacity) {
    const auto capacities = boost::get(boost::edge_capacity, network_);
    const auto reverses = boost::get(boost::edge_reverse, network_);
    const auto there = boost::add_edge(from, to, network_).first, back = boost::add_edge(to, from, network_).first;
    capacities[there] = std::max(capacity, 0.0);
    capacities[back] = 0;
    reverses[there] = back;
    reverses[back] = there;
  }

  Network network_;
};

}  // namespace

std::set<std::string> cheapest_float(const graph::Model& model, const quant::Plan& plan, const OperatorCosts& costs,
                                     const stats::Statistics& seen, double conversions) {
  Cut cut;
  const graph::Index index(model);
  std::map<std::string, size_t> vertices;
  for (const auto& node : model.nodes) {
    const size_t vertex = vertices[node.name] = cut.add();
    const auto cost = costs.operators.find(node.name);
    if (!plan.nodes.contains(node.name)) {
      cut.stays_in_float(vertex);
    } else if (cost != costs.operators.end()) {
      cut.cost(vertex, cost->second.quantized, cost->second.in_float);
    }
  }
  const size_t outside = cut.add();
  cut.stays_in_float(outside);
  const ConversionCosts prices(costs, seen);
  const auto connect = [&](const std::string& value, size_t from) {
    std::vector<size_t> readers;
    for (const graph::Node* reader : index.consumers(value)) readers.push_back(vertices.at(reader->name));
    if (index.is_output(value)) readers.push_back(outside);
    if (readers.empty()) return;
    cut.conversion(from, readers, conversions * prices.entering(value), conversions * prices.leaving(value));
  };
  for (const auto& input : model.inputs) connect(input.name, outside);
  for (const auto& node : model.nodes) {
    for (const auto& output : node.outputs) connect(output, vertices.at(node.name));
  }
  const std::vector<bool> in_float = cut.in_float();
  std::set<std::string> out;
  for (const auto& [name, vertex] : vertices) {
    if (in_float[vertex] && plan.nodes.contains(name)) out.insert(name);
  }
  return out;
}

}  // namespace quasar::tune
