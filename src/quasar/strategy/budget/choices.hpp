// What strategy `budget` decides on: groups of operators, the precisions that each can have, and what an assignment of these is.
#pragma once

#include <string>
#include <vector>

#include "quasar/search/space.hpp"
#include "quasar/strategy/budget/assignment.hpp"
#include "quasar/strategy/budget/space.hpp"
#include "quasar/strategy/operator_groups.hpp"
#include "quasar/trial/variants.hpp"

namespace quasar::tune {

class BudgetChoices {
 public:
  // All outlive it. The space is with_precisions().
  BudgetChoices(const Budget& budget, const Json& search_space, const search::Space& space, const graph::Model& model,
                const quant::Target& target);

  const OperatorGroups& groups() const { return groups_; }
  const std::vector<Rung>& precisions() const { return precisions_; }
  // The precisions that a group can have, by their numbers among precisions(): some operator of it can.
  const std::vector<size_t>& own(size_t group) const { return own_[group]; }
  const std::string& name_of(size_t group, size_t choice) const { return precisions_[own_[group][choice]].name; }

  // Every group in this precision; one that cannot have it is quantized.
  Assignment all_in(const std::string& precision) const;
  // Each group in the first precision of precisions() that it can have. Not always the smallest model: what is small or has no
  // weights may need more bytes for scales than it saves.
  Assignment fewest_bits() const;
  // The space's default configuration, or the one that was chosen instead, with these precisions.
  search::Point point_of(const Assignment& assignment) const;
  // Operators that are not in 8 bits, and in what instead: "2 int4, 3 float32".
  std::string in_words(const Assignment& assignment) const;

  const search::Point& base() const { return base_; }
  void choose_base(const search::Point& point) { base_ = point; }  // all quantized
  const search::Space& space() const { return space_; }

 private:
  const search::Space& space_;
  const std::vector<Rung> precisions_;
  const OperatorGroups groups_;
  std::vector<std::vector<size_t>> own_;
  search::Point base_;
};

// The bytes of the file that this point's model makes, without its rounding, which changes none. Throws Error where it cannot be
// made.
double bytes_at(const search::Point& point, const search::Space& space, Variants& variants, const quant::Target& target);

}  // namespace quasar::tune
