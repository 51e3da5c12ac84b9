#include "quasar/trial/quality.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/config/usual_target.hpp"

namespace quasar::tune {
namespace {

constexpr double least_cosine = 0.9;
constexpr double most_lost = 0.1;             // of a metric with labels, as a share of size_of()
constexpr double tolerable_part = 0.3;        // relative error of the worst part: its cosine is then about 0.95
constexpr double no_use = 1, doubtful = 0.5;  // errors in units of what values vary between samples: 1 − R² is their square

struct Words {
  double good, broken;
  bool higher;
};

const std::map<std::string, Words>& words_by_metric() {
  static const std::map<std::string, Words> words{{"relative", {0.1, 0.4, false}},
                                                  {"parts", {0.1, 0.4, false}},
                                                  {"cos", {0.995, least_cosine, true}},
                                                  {"agreement", {0.95, 0.9, true}}};
  return words;
}

// "0–3, 7"
std::string ranges_of(const std::vector<int64_t>& slices) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < slices.size();) {
    size_t last = i;
    while (last + 1 < slices.size() && slices[last + 1] == slices[last] + 1) ++last;
    runs.push_back(std::to_string(slices[i]) + (last > i ? "–" + std::to_string(slices[last]) : ""));
    i = last + 1;
  }
  constexpr size_t most = 4;
  const size_t left = runs.size() > most ? runs.size() - most : 0;
  if (left > 0) runs.resize(most);
  return joined(runs) + (left > 0 ? " and " + std::to_string(left) + " more ranges" : "");
}

std::string name_of(const Quality::Part& part) {
  const std::string output = "output '" + part.output + "'";
  return part.axis ? output + ", " + part.slices + " of axis " + std::to_string(*part.axis) : output;
}

// A constant is as good as a part whose errors are as large as what it varies. What never varies does not tell samples apart.
std::optional<double> error_of_spread(const eval::OutputPart& part, const eval::PartError& error) {
  constexpr double least = 1e-6;  // of the values' size: float arithmetic
  if (!part.spread || !(*part.spread > least * part.rms)) return std::nullopt;
  return error.relative * part.rms / *part.spread;
}

std::string word_of(const eval::PartError& error, std::optional<double> of_spread) {
  const std::string word = error.constant ? "broken" : plain_word("relative", error.relative);
  if (!of_spread || *of_spread <= doubtful || word == "broken") return word;
  return *of_spread >= no_use ? "broken" : "check";
}

std::vector<Quality::Part> parts_of(const Judged& judged) {
  std::vector<Quality::Part> out;
  const auto& parts = judged.evaluator.parts().all();
  for (size_t i = 0; i < parts.size(); ++i) {
    const eval::PartError& error = judged.examination.parts[i];
    // Values of classes may be far off where the answers are right.
    const auto of_spread = judged.classes ? std::nullopt : error_of_spread(parts[i], error);
    out.push_back({.output = judged.evaluator.outputs()[parts[i].output],
                   .size = parts[i].rms,
                   .relative = error.relative,
                   .cosine = error.cosine,
                   .of_spread = of_spread,
                   .word = word_of(error, of_spread),
                   .axis = parts[i].axis,
                   .slices = parts[i].axis ? ranges_of(parts[i].slices) : "",
                   .constant = error.constant});
  }
  return out;
}

std::string of_float(double share) {
  return in_digits(100 * share, 3) + " %";
}

// Not above the number, so that the goal is met where the verdict is.
double in_three_digits(double number) {
  if (!(number > 0)) return number;
  const double scale = std::pow(10, 2 - std::floor(std::log10(number)));
  const double steps = number * scale;
  return (std::abs(steps - std::round(steps)) < 1e-6 ? std::round(steps) : std::floor(steps)) / scale;
}

void judge_answers(const Judged& judged, Quality& quality) {
  const auto& answers = judged.examination.answers;
  if (!answers || answers->samples == 0) return;
  quality.answers = {answers->metric, judged.evaluator.samples(), answers->samples, answers->share, answers->mean};
  if (answers->share >= judged.aim.least_agreement) return;
  // Where float is not sure itself, half of the answers may change. Which of them do is not known: either all that may be lost
  // are sure ones, or no more than half of those that least_agreement lets go.
  const double sure = static_cast<double>(answers->samples) / static_cast<double>(judged.evaluator.samples());
  const double may_go = (1 - judged.aim.least_agreement) * sure;
  const double lost = std::max(may_go, 0.5 * may_go + 0.5 * (1 - sure));
  quality.goal = {{"criterion", "absolute"}, {"tolerable_loss", in_three_digits(lost)}, {"metrics", {{answers->metric, 1}}}};
  quality.reasons.push_back("its answers are the float model's on " + of_float(answers->share) + " of the " +
                            std::to_string(answers->samples) + " samples on which float is sure (" + answers->metric +
                            "; least_agreement " + in_digits(judged.aim.least_agreement, 3) + ")");
}

// What a tenth of is too much to lose: the float model's score, or where errors are counted what is right, if that is more.
double size_of(double was, Direction direction) {
  return direction == Direction::minimize ? std::max(was, 1 - was) : was;
}

// Whether the user has said how much of this metric may be lost, and no more is.
bool is_tolerated(const Judged& judged, const std::string& metric) {
  const auto& own = judged.aim.criterion;
  return own && std::ranges::any_of(own->parts, [&](const auto& part) { return part.metric == metric; }) &&
         excess_of(*own, measures_of(judged.scores), measures_of(judged.reference)) <= 0;
}

void judge_labels(const Judged& judged, Quality& quality) {
  if (judged.aim.least_agreement == 0) return;
  for (const auto& [name, score] : judged.scores) {
    if (!eval::is_metric_in_results(name)) continue;
    const auto metric = eval::make_metric(name);
    const auto found = judged.reference.find(name);
    if (metric->needs() == eval::Truth::none || found == judged.reference.end()) continue;
    const double was = found->second.value, size = size_of(was, metric->direction());
    if (!(size > 0)) continue;
    const bool rises = metric->direction() == Direction::minimize;
    const double lost = rises ? score.value - was : was - score.value;
    const double answers = lost * static_cast<double>(judged.evaluator.samples());
    const bool by_chance = metric->is_proportion() && std::round(answers) < answers_to_lose;
    if (excess_over(lost, most_lost * size, was, score.value) <= 0 || by_chance || is_tolerated(judged, name)) continue;
    if (quality.goal.is_null()) {
      const bool relative = size == was;
      quality.goal = {{"criterion", relative ? "relative" : "absolute"},
                      {"tolerable_loss", relative ? most_lost : in_three_digits(most_lost * size)},
                      {"metrics", {{name, 1}}}};
    }
    quality.reasons.push_back(name + (rises ? " rises from " : " falls from ") + in_digits(was, 4) + " to " +
                              in_digits(score.value, 4));
  }
}

// Values of classes may be far off where the answers are right.
void judge_parts(const Judged& judged, Quality& quality) {
  for (const auto& part : quality.parts) {
    if (!(part.size > 0)) continue;
    if (part.constant) {
      quality.reasons.push_back(name_of(part) + " is one value everywhere, and varies in the float model");
    } else if (!judged.classes && part.cosine < least_cosine) {
      quality.reasons.push_back(name_of(part) + " is far from the float model's: cosine " + in_digits(part.cosine) +
                                ", relative error " + in_digits(part.relative));
    } else if (part.of_spread && *part.of_spread >= no_use) {
      quality.reasons.push_back(name_of(part) + " tells samples apart no better than a constant: its errors are " +
                                in_digits(*part.of_spread, 2) + " times what the float model's values vary between samples");
    }
  }
}

// Distances that the largest values decide.
bool counts_by_size(const std::string& metric) {
  static const std::vector<std::string> distances{"L2",   "L1",    "mse",   "cos",    "psnr",    "sqnr",
                                                  "ssim", "v1_L2", "v1_L1", "v1_cos", "v1_psnr", "v1_ssim"};
  return std::ranges::find(distances, metric) != distances.end();
}

std::string blindness(const Judged& judged, const Quality& quality) {
  const std::string& metric = judged.aim.goals.objectives.front().metric;
  if (!counts_by_size(metric) || !judged.evaluator.parts().differ()) return "";
  std::vector<std::string> rows;
  for (const auto& part : quality.parts)
    rows.push_back(name_of(part) + ": size " + in_digits(part.size) + ", relative error " + in_digits(part.relative) + " (" +
                   part.word + ")");
  std::string text = metric + " sees little but the largest of the outputs' parts: ";
  for (const auto& row : rows) text += (&row == &rows.front() ? "" : "; ") + row;
  return text + ". Metric parts counts the worst of them (search_metric: parts)";
}

// Where answers name classes, values are looked at only if they are broken: right answers on the samples at hand may be luck
// then.
bool wants_checking(const Judged& judged, const Quality& quality) {
  const auto is_off = [&](const Quality::Part& part) {
    return part.size > 0 && (judged.classes ? part.word == "broken" : part.word != "good");
  };
  if (std::ranges::any_of(quality.parts, is_off)) return true;
  return quality.answers && plain_word("agreement", std::min(quality.answers->same, quality.answers->mean)) != "good";
}

// Whether the job's criterion is about one of these metrics.
bool counts(const Aim& aim, const Json& metrics) {
  return aim.criterion &&
         std::ranges::any_of(aim.criterion->parts, [&](const auto& part) { return metrics.contains(part.metric); });
}

// Relative error of the worst part at which no part's errors are doubtful beside what it varies.
double tolerable_error(const Quality& quality) {
  double out = tolerable_part;
  for (const auto& part : quality.parts)
    if (part.of_spread && *part.of_spread > doubtful) out = std::min(out, doubtful * part.relative / *part.of_spread);
  return in_three_digits(out);
}

// Metric parts is a mean over samples, and the verdict a root of sums over all of them, in which bad samples weigh more: so much
// of the metric is tolerable as leaves the verdict at tolerable_error().
double tolerable_mean(const Judged& judged, const Quality& quality) {
  const double tolerable = tolerable_error(quality);
  const auto metric = judged.scores.find("parts");
  double worst = 0;
  for (const auto& part : quality.parts) worst = std::max(worst, part.relative);
  if (metric == judged.scores.end() || !(metric->second.value > 0) || !std::isfinite(worst) || worst <= metric->second.value)
    return tolerable;
  return in_three_digits(tolerable * metric->second.value / worst);
}

// As a shell takes it.
std::string setting(const std::string& key, const Json& value) {
  return "--set '" + key + "=" + value.dump() + "'";
}

std::vector<std::string> cures_for(const Judged& judged, const Quality& quality) {
  std::vector<std::string> out;
  if (!judged.unquantized.empty())
    out.push_back("see `quasar inspect MODEL` for what can be quantized, and choose a type that the target has kernels for");
  std::string goal = setting("accuracy_criterion", quality.goal);
  const auto& head = judged.evaluator.head();
  if (head && !head->decoder.is_null() && !judged.words.contains("decoder")) goal += " " + setting("decoder", head->decoder);
  // The space that said which target is meant is left out.
  if (const Json target = judged.words.value("target", Json()); target.is_string() && target != quant::default_target)
    goal += " --set target=" + target.get<std::string>();
  if (!judged.repaired) {
    out.push_back("strategy repair finds the operators that must stay in float: `--set strategy=repair " + goal +
                  "`, without a preset or a search space");
  } else if (!counts(judged.aim, quality.goal["metrics"])) {
    out.push_back("make what is lost the goal: `" + goal + "`");
  }
  out.push_back("more and more typical calibration samples");
  return out;
}

}  // namespace

std::string plain_word(const std::string& metric, double value) {
  const auto found = words_by_metric().find(metric);
  if (found == words_by_metric().end() || !std::isfinite(value)) return "";
  const auto [good, broken, higher] = found->second;
  if (higher ? value >= good : value <= good) return "good";
  return (higher ? value < broken : value > broken) ? "broken" : "check";
}

bool may_give_fewer_answers(const Quality& quality) {
  return quality.word != "unknown" && (quality.word != "good" || (quality.answers && quality.answers->same < 1));
}

bool gives_more_answers(const Quality& one, const Quality& other) {
  if (one.answers && other.answers && one.answers->same != other.answers->same) return one.answers->same > other.answers->same;
  return one.word == "good" && other.word != "good";
}

Quality quality_of(const Judged& judged) {
  Quality quality;
  quality.parts = parts_of(judged);
  judge_answers(judged, quality);
  judge_labels(judged, quality);
  judge_parts(judged, quality);
  if (!judged.unquantized.empty()) quality.reasons.push_back(judged.unquantized);
  quality.metric_blind = blindness(judged, quality);
  quality.word = !quality.reasons.empty() ? "poor" : wants_checking(judged, quality) ? "check" : "good";
  if (quality.poor()) {
    if (quality.goal.is_null())
      quality.goal = {
          {"criterion", "absolute"}, {"tolerable_loss", tolerable_mean(judged, quality)}, {"metrics", {{"parts", 1}}}};
    quality.cures = cures_for(judged, quality);
  }
  return quality;
}

namespace {

Json to_json(const Quality::Part& part) {
  Json out{
      {"output", part.output}, {"size", part.size}, {"relative", part.relative}, {"cosine", part.cosine}, {"word", part.word}};
  if (part.axis) out.update({{"axis", *part.axis}, {"slices", part.slices}});
  if (part.constant) out["constant"] = true;
  if (part.of_spread) out["of_spread"] = *part.of_spread;
  return out;
}

}  // namespace

Json to_json(const Quality& quality) {
  Json out{{"word", quality.word}, {"parts", Json::array()}, {"answers", nullptr}};
  for (const auto& part : quality.parts) out["parts"].push_back(to_json(part));
  if (quality.answers) {
    const auto& [metric, samples, sure, same, mean] = *quality.answers;
    out["answers"] = {{"metric", metric}, {"samples", samples}, {"sure", sure}, {"same", same}, {"mean", mean}};
  }
  if (quality.poor()) out.update({{"reasons", quality.reasons}, {"try", quality.cures}});
  return out;
}

}  // namespace quasar::tune
