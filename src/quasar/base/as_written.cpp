#include "quasar/base/as_written.hpp"

#include <algorithm>
#include <cmath>

namespace quasar {
namespace {

// A text in pieces around its numbers, and which of these run over the texts that it stands for.
struct Numbered {
  std::vector<std::string> around, first, last;  // one number less than pieces
  std::vector<size_t> running;

  explicit Numbered(const std::string& text) : around(1) {
    bool in_number = false;
    for (const char c : text) {
      const bool digit = c >= '0' && c <= '9';
      if (digit && !in_number) first.emplace_back(), around.emplace_back();
      (digit ? first : around).back() += c;
      in_number = digit;
    }
    last = first;
  }

  // Whether it is the next one. Then it is the last.
  bool take(const Numbered& next) {
    if (around != next.around) return false;
    std::vector<size_t> changed;
    for (size_t i = 0; i < last.size(); ++i)
      if (last[i] != next.first[i]) changed.push_back(i);
    if (changed.empty() || (!running.empty() && running != changed)) return false;
    const std::string from = last[changed.front()], to = next.first[changed.front()];
    const bool one = std::ranges::all_of(changed, [&](size_t i) { return last[i] == from && next.first[i] == to; });
    if (!one || from.size() > 6 || to.size() > 6 || std::stoi(to) != std::stoi(from) + 1) return false;
    running = changed;
    last = next.first;
    return true;
  }

  std::string text() const {
    std::string out = around.front();
    for (size_t i = 0; i < first.size(); ++i)
      out += (first[i] == last[i] ? first[i] : "{" + first[i] + "…" + last[i] + "}") + around[i + 1];
    return out;
  }
};

}  // namespace

std::string as_written(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    return std::isnan(number) ? ".nan" : number > 0 ? ".inf" : "-.inf";
  }
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, item] : value.items())
    out += (out.empty() ? "" : ",") + (value.is_object() ? Json(key).dump() + ":" : "") + as_written(item);
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

std::vector<std::string> folded(const std::vector<std::string>& texts) {
  std::vector<Numbered> kinds;
  for (const std::string& text : texts) {
    const Numbered one(text);
    if (std::ranges::none_of(kinds, [&](Numbered& kind) { return kind.take(one); })) kinds.push_back(one);
  }
  std::vector<std::string> out;
  for (const Numbered& kind : kinds) out.push_back(kind.text());
  return out;
}

}  // namespace quasar
