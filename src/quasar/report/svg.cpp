#include "quasar/report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "quasar/base/digits.hpp"

namespace quasar::report {
namespace {

constexpr double width = 800, left = 90, right = 20, top = 46;

std::string shortest(double value) {
  return in_digits(value, 4);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string words(double x, double y, const std::string& text, const std::string& more = "") {
  return "<text x=\"" + shortest(x) + "\" y=\"" + shortest(y) + "\" " + more + ">" + escaped(text) + "</text>\n";
}

std::string begin(double height, const std::string& title) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 " + shortest(height) +
         "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1b2430\">\n<rect width=\"800\" height=\"" + shortest(height) +
         "\" fill=\"#ffffff\"/>\n" + words(16, 24, title, "font-size=\"15\" font-weight=\"bold\"");
}

// A step of 1, 2 or 5 times a power of ten that divides the span into at most so many parts.
double round_step(double span, int parts) {
  const double power = std::pow(10, std::floor(std::log10(span / parts)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power * parts >= span) return step * power;
  }
  return 10 * power;
}

// From values to the height in the picture, between round numbers; logarithmic where values are positive and differ much.
class Scale {
 public:
  Scale(double low, double high, double height) : log_(low > 0 && high > 40 * low), height_(height) {
    if (high <= low) high = low + (low == 0 ? 1 : std::abs(low) / 10);
    step_ = log_ ? std::max(1.0, std::ceil((shape(high) - shape(low)) / 6)) : round_step(high - low, 5);
    low_ = step_ * std::floor(shape(low) / step_ + 1e-9);
    high_ = step_ * std::ceil(shape(high) / step_ - 1e-9);
  }
  double operator()(double value) const { return top + height_ * (1 - (shape(value) - low_) / (high_ - low_)); }
  std::vector<double> ticks() const {
    std::vector<double> out;
    for (int i = 0; low_ + i * step_ <= high_ + step_ / 2; ++i) {
      const double x = low_ + i * step_;
      out.push_back(log_ ? std::pow(10, x) : std::abs(x) < step_ / 2 ? 0 : x);
    }
    return out;
  }

 private:
  double shape(double value) const { return log_ ? std::log10(value) : value; }
  bool log_;
  double step_ = 1, low_ = 0, high_ = 1, height_;
};

struct Point {
  double trial = 0, value = 0;
  bool counts = true;  // for the line of the best: no duplicate, whole, and within the constraints
};

std::vector<Point> points_of(const Json& contents) {
  std::vector<Point> points;
  for (const auto& trial : contents["trials"]) {
    if (trial["values"].empty() || !trial["values"][0].is_number()) continue;
    points.push_back({trial["number"].get<double>(), trial["values"][0].get<double>(),
                      trial["state"] == "complete" && !trial.contains("violation")});
  }
  return points;
}

}  // namespace

std::string history_svg(const Json& contents) {
  constexpr double height = 400, plot = height - top - 50;
  const std::string name = contents["objectives"].empty() ? "value" : contents["objectives"][0]["name"].get<std::string>();
  const bool maximize = !contents["objectives"].empty() && contents["objectives"][0]["direction"] == "maximize";
  std::string out = begin(height, "Optimization history: " + name);
  const auto points = points_of(contents);
  if (points.empty()) return out + "</svg>\n";
  double low = points.front().value, high = low, last = 1;
  for (const auto& point : points) {
    low = std::min(low, point.value);
    high = std::max(high, point.value);
    last = std::max(last, point.trial);
  }
  const Scale y(low, high, plot);
  const auto x = [&](double trial) { return left + (width - left - right) * trial / last; };
  for (const double value : y.ticks()) {
    const double at = y(value);
    out += "<path d=\"M" + shortest(left) + " " + shortest(at) + "H" + shortest(width - right) + "\" stroke=\"#dfe4ea\"/>\n";
    out += words(left - 8, at + 4, in_digits(value), "text-anchor=\"end\"");
  }
  const double step = std::max(1.0, round_step(last, 8));
  for (double trial = 0; trial <= last; trial += step)
    out += words(x(trial), top + plot + 22, shortest(trial), "text-anchor=\"middle\"");
  out += words((left + width - right) / 2, height - 8, "trial", "text-anchor=\"middle\"");
  std::string line, dots;
  double best = NAN;
  for (const auto& point : points) {
    dots += "<circle cx=\"" + shortest(x(point.trial)) + "\" cy=\"" + shortest(y(point.value)) + "\" r=\"3.5\" fill=\"" +
            (point.counts ? "#2557c7" : "#98a3b1") + "\"/>\n";
    if (!point.counts || (!std::isnan(best) && (maximize ? point.value <= best : point.value >= best))) continue;
    line += (line.empty() ? "M" : "H") + shortest(x(point.trial)) + (line.empty() ? " " : "V") + shortest(y(point.value));
    best = point.value;
  }
  if (!line.empty()) line += "H" + shortest(x(last));
  return out + "<path d=\"" + line + "\" fill=\"none\" stroke=\"#0b7a53\" stroke-width=\"2\"/>\n" + dots + "</svg>\n";
}

std::string importance_svg(const Json& contents) {
  const Json& items = contents["importance"];
  constexpr double names = 300, step = 26;
  std::string out = begin(top + step * static_cast<double>(items.size()) + 16, "Parameter importance");
  double y = top;
  for (const auto& item : items) {
    const double share = item["share"];
    out += words(names - 8, y + 14, item["name"].get<std::string>(), "text-anchor=\"end\"");
    out += "<rect x=\"" + shortest(names) + "\" y=\"" + shortest(y + 2) + "\" width=\"" + shortest((width - names - 80) * share) +
           "\" height=\"16\" rx=\"3\" fill=\"#2557c7\"/>\n";
    out += words(names + (width - names - 80) * share + 6, y + 14, formatted("%.1f %%", 100 * share));
    y += step;
  }
  return out + "</svg>\n";
}

}  // namespace quasar::report
