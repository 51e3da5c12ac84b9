// Branches of If while layers are rounded: samples that take the same ones run a model without any, in which the layers of these
// branches are layers like others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

struct Route {
  graph::Model model;           // nodes have the names that they have in the open model; what no output needs is gone
  std::vector<size_t> samples;  // that take it, by number
  std::set<std::string> nodes;  // those of branches, without those that an earlier route has
};

// The ways that the samples take through the branches of a model with open bodies, the one with the most samples first. Branches
// within Loop and Scan are no ways of their own. Only the conditions are computed. Throws Error where the model cannot be run.
std::vector<Route> routes_of(const graph::Model& model, const data::Dataset& samples, size_t threads);

// What the plan says of bodies' nodes and values is left out: a closed model has none.
quant::Plan without_bodies(quant::Plan plan, const graph::Model& closed);

// The nodes in bodies, and what they read, alone.
graph::Model only_bodies(const graph::Model& open);

// Branches of a merged decoder have the same weights, which are stored once as long as their codes are the same. Where every
// layer among `nodes` has the constants and parameters of a node in `rounded`, its codes are put into the plan, and what was
// corrected behind it. false: nothing was changed.
bool take_from_twins(quant::Plan& plan, const std::set<std::string>& nodes, const std::set<std::string>& rounded,
                     const graph::Model& inner);

}  // namespace quasar::tune
