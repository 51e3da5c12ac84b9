#include "quasar/report/assets.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::report::writers {
namespace {

// JSON that may stand inside a <script> element: no "</script>" and no "<!--" can occur in it.
std::string for_script(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string title_of(const std::vector<Json>& searches) {
  std::string title = "Quasar";
  for (const auto& contents : searches) title += " · " + contents.value("title", std::string());
  return escaped(title);
}

class Html final : public Writer {
 public:
  explicit Html(const Options& options) : view_(options.text("view")) {}

  std::string write(const std::vector<Json>& searches) const override {
    const std::string view = searches.size() > 1 ? "comparison" : view_;
    const std::string data = for_script({{"view", view}, {"searches", searches}});
    const std::pair<std::string_view, std::string> parts[]{{"@title@", title_of(searches)},
                                                           {"@style@", std::string(assets::style())},
                                                           {"@data@", data},
                                                           {"@notice@", std::string(assets::notice())},
                                                           {"@echarts@", std::string(assets::echarts())},
                                                           {"@script@", std::string(assets::script())}};
    std::string out;
    std::string_view rest = assets::page();
    for (const auto& [mark, text] : parts) {
      const size_t place = rest.find(mark);
      out.append(rest.substr(0, place)).append(text);
      rest.remove_prefix(place + mark.size());
    }
    return out.append(rest);
  }

 private:
  std::string view_;
};

}  // namespace

Entry<Writer> html() {
  return {.help = "One page that opens without a network: summary, plots, layers, trials.",
          .make = make_as<Html, Writer>,
          .options = {{.name = "view",
                       .fallback = "report",
                       .help = "all of a search, one plot of it, or what inspect says of a model",
                       .choices = {"report", "history", "importance", "inspection"}}}};
}

}  // namespace quasar::report::writers
