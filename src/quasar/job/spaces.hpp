// The spaces of a job, read and looked through before anything runs: which combinations cannot be, how many there are, and what
// they need of the calibration samples.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/job/calibration.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {

inline constexpr double form_noise = 1.02;  // of the times of forms
inline constexpr double form_gain = 1.2;    // times that are worth more than a smaller error of a good model

struct Spaces {
  std::vector<search::Space> each;         // in the order of the search, without the combinations that cannot be
  std::vector<search::Space> calibration;  // the same without their fine-tuning parts, where nothing else hangs on these
  std::vector<bool> fine_tuning;           // whether each has such a part
  // Where a space has several forms (quant/config/model_form.hpp): `calibration` has the first, and here is the same with each
  // other.
  std::vector<std::vector<search::Space>> other_forms;
  // That quantize less than half of the multiply-adds of the first one, or gain less than half of the time.
  std::set<std::string> lesser_forms = {};
  std::map<std::string, double> form_times = {};  // of forms by name, in times of the float model; empty: not measured
  search::Space all;                              // decodes and records the points of any of them
  CalibrationNeeds needs;
  std::map<std::string, quant::Config> names;  // by what they say of names: one configuration for all that say the same
  std::set<quant::NodeForm> node_forms;        // that the activations of some point have
  std::vector<std::string> notes;              // keys that act in no combination
  Json facts = Json::array();                  // per space: {points, calibrations, invalid, why, distinct}; null: no such number

  // Replaces each space by the one with these words, where a strategy varies more than the user does. What a space refused stays
  // refused, whatever the added parameters are.
  void extend(const std::function<Json(size_t)>& words);

  // The forms besides the first of any space, each once.
  std::vector<std::string> names_of_other_forms() const;

  // The form that a space has in all points; "": none, or several.
  static std::string form_of(const search::Space& space);

  // How many times as long as the float model's a run of this point's form takes; nullopt: it was not measured.
  std::optional<double> time_of(const search::Point& point) const;

  // Takes such a form out of all spaces, with the reason.
  void leave_out(const std::string& form, const std::string& why);

  // Gives all spaces a parameter of one value; whoever makes a further one of the job's words adds what is held.
  void hold(const std::string& name, const Json& value);
  std::vector<std::pair<std::string, Json>> held;
};

// Throws Error for words that are wrong in every combination; combinations that are wrong only together are taken out.
Spaces read_spaces(const Job& job);

// The configuration of a point in the words of quant::parse_config. Groups called *_options (their members are first-level
// options under a condition) and calibrate_method, which stands for methods and scale types of both sides, are resolved here.
Json words_of(const search::Space& space, const search::Point& point);

// How many configurations the points of a space make, rounding included; null where there are more than `most` points.
Json distinct_configurations(const search::Space& space, uint64_t most);

// {invalid, why: {reason: count}}: its points that are impossible combinations; null as above.
Json invalid_combinations(const search::Space& space, uint64_t most);

// A space without its fine-tuning part. Throws Error where other options hang on that part.
search::Space calibration_part(const Json& search_space);

// Whether the space varies or switches on the optimization of rounding.
bool has_fine_tuning(const Json& search_space);

}  // namespace quasar::tune
