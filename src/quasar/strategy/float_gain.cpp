#include "quasar/strategy/float_gain.hpp"

#include <sstream>

#include "quasar/job/precision.hpp"

namespace quasar::tune {
namespace {

double price(const std::string& name, const Json& value) {
  return given_up(search::Point{{name, value}});
}

// In how many operators `more` gives up more; 0: they differ in something else too.
size_t operators_more(const search::Point& more, const search::Point& less) {
  if (more.values().size() != less.values().size()) return 0;
  size_t count = 0;
  for (size_t i = 0; i < more.values().size(); i++) {
    const auto& [name, value] = more.values()[i];
    const auto& [other, before] = less.values()[i];
    if (name != other) return 0;
    if (value == before) continue;
    if (!name.starts_with(precision_of("")) || price(name, value) <= price(name, before)) return 0;
    count++;
  }
  return count;
}

}  // namespace

std::optional<FloatGain> gained_by(const std::string& node, const Json& type, std::span<const Passed> way) {
  std::optional<FloatGain> best;
  for (const Passed& with : way) {
    if (precision_at(with.point, node) != type) continue;
    for (const Passed& without : way) {
      if (precision_at(without.point, node) == type) continue;
      const size_t together = operators_more(with.point, without.point);
      if (together > 0 && (!best || together <= best->together)) best = {without.loss, with.loss, together};
    }
  }
  return best;
}

std::string in_words(const std::optional<FloatGain>& gained) {
  if (!gained) return "";
  std::ostringstream out;
  out.precision(4);
  const size_t others = gained->together - 1;
  const std::string them =
      others == 0 ? "it" : "it and " + std::to_string(others) + " other operator" + (others == 1 ? "" : "s") + " together";
  out << "; without " << them << " the loss is " << gained->without << ", with " << (others == 0 ? "it " : "them ")
      << gained->with;
  return out.str();
}

}  // namespace quasar::tune
