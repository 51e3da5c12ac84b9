// The nodes of the part of a model in which a value's scale is judged, and what stands at its ends.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

// From a value over so many linear layers in a row, or 64 nodes. Only nodes that depend on the start are looked at, and of these
// as many as are needed to know the members.
class WindowCut {
 public:
  WindowCut(const graph::Index& index, const std::string& start, size_t layers);

  const std::set<size_t>& members() const { return members_; }        // indices of nodes
  const std::vector<std::string>& inputs() const { return inputs_; }  // the start first
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  size_t place_of(const graph::Node* node) const;
  bool is_read_outside(const std::string& value) const;
  void find_members(const std::string& start, size_t layers);
  void find_ends(const std::string& start);

  const graph::Index& index_;
  const graph::Model& model_;
  std::set<size_t> members_;
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace quasar::tune
