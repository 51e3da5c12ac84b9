// Everything of some trials in one statement: rows of several kinds, with the columns that some kind has. So it is of one moment,
// and one journey to the server.
#pragma once

#include <string>
#include <vector>

namespace quasar::search::optuna {

enum class RowKind { study, head, parameter, value, intermediate, user, system, claim, word };

// The columns of one kind of rows; what is not named is nothing.
struct Columns {
  RowKind kind;
  std::string from;
  std::string trial = "0", order = "0", place = "", number = "", name = "NULL", text = "NULL", more = "NULL";

  std::string sql() const;
};

// Which rows to read: trials of the study under a condition on `t`, and kinds of rows besides.
struct Which {
  std::string condition = {};      // instead of all of them: on few
  std::string parameters_of = {};  // of which of these trials parameters are read: a condition on v.trial_id; "": of all
  std::vector<Columns> more = {};
};

// The statement: "kind", trial, place in the kind, a whole number and a real one with what stands in their place, name, text,
// more.
std::string query_of(const Which& which);

}  // namespace quasar::search::optuna
