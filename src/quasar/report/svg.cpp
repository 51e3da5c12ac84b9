#include "quasar/report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace quasar::report {
namespace {

constexpr double width = 800, left = 90, right = 20, top = 46;

std::string shortest(double value, const char* form = "%.4g") {
  char text[32];
  std::snprintf(text, sizeof(text), form, value);
  return text;
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

// From values to the height in the picture; logarithmic where values are positive and differ much.
class Scale {
 public:
  Scale(double low, double high, double height)
      : log_(low > 0 && high > 40 * low), low_(shape(low)), high_(shape(high)), height_(height) {
    if (high_ <= low_) high_ = low_ + 1;
  }
  double operator()(double value) const { return top + height_ * (1 - (shape(value) - low_) / (high_ - low_)); }
  double tick(int i) const {
    const double x = low_ + (high_ - low_) * i / 4;
    return log_ ? std::pow(10, x) : x;
  }

 private:
  double shape(double value) const { return log_ ? std::log10(value) : value; }
  bool log_;
  double low_, high_, height_;
};

struct Point {
  double trial = 0, value = 0;
  bool executed = true;
};

std::vector<Point> points_of(const Json& contents) {
  std::vector<Point> points;
  for (const auto& trial : contents["trials"]) {
    if (trial["values"].empty() || !trial["values"][0].is_number()) continue;
    points.push_back({trial["number"].get<double>(), trial["values"][0].get<double>(), trial["state"] == "complete"});
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
  for (int i = 0; i <= 4; ++i) {
    const double at = y(y.tick(i));
    out += "<path d=\"M" + shortest(left) + " " + shortest(at) + "H" + shortest(width - right) + "\" stroke=\"#dfe4ea\"/>\n";
    out += words(left - 8, at + 4, shortest(y.tick(i), "%.3g"), "text-anchor=\"end\"");
  }
  for (int i = 0; i <= 4; ++i)
    out += words(x(last * i / 4), top + plot + 22, shortest(std::round(last * i / 4)), "text-anchor=\"middle\"");
  out += words((left + width - right) / 2, height - 8, "trial", "text-anchor=\"middle\"");
  std::string line, dots;
  double best = NAN;
  for (const auto& point : points) {
    dots += "<circle cx=\"" + shortest(x(point.trial)) + "\" cy=\"" + shortest(y(point.value)) + "\" r=\"3.5\" fill=\"" +
            (point.executed ? "#2557c7" : "#98a3b1") + "\"/>\n";
    if (!std::isnan(best) && (maximize ? point.value <= best : point.value >= best)) continue;
    line += (line.empty() ? "M" : "H") + shortest(x(point.trial)) + (line.empty() ? " " : "V") + shortest(y(point.value));
    best = point.value;
  }
  line += "H" + shortest(x(last));
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
    out += words(names + (width - names - 80) * share + 6, y + 14, shortest(100 * share, "%.1f") + " %");
    y += step;
  }
  return out + "</svg>\n";
}

}  // namespace quasar::report
