#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::report::writers {
namespace {

using Pointer = Json::json_pointer;

// Text from models and configurations on one line, without what would steer a terminal. An empty line would end a table, or code.
std::string in_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return printable(text);
}

// The same inert in Markdown and in a table's cell.
std::string inert(const std::string& text) {
  std::string out;
  for (const char c : in_one_line(text)) {
    if (c == '<') {
      out += "&lt;";
    } else {
      if (std::string_view("|`*_[]\\#").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// Our own sentences with `code` in them, which name layers and files too. What stands in code is inert by itself; where the
// backticks do not come in pairs, somebody else brought one.
std::string inert_but_code(const std::string& text) {
  if (std::ranges::count(text, '`') % 2 != 0 || text.find("``") != std::string::npos) return inert(text);
  std::string out;
  bool code = false;
  for (size_t start = 0; start <= text.size(); code = !code) {
    const size_t end = std::min(text.find('`', start), text.size());
    const std::string part = text.substr(start, end - start);
    out += code ? "`" + in_one_line(part) + "`" : inert(part);
    start = end + 1;
  }
  return out;
}

std::string number(const Json& value) {
  return value.is_number() ? plain_digits(value.get<double>(), 4) : "–";
}

std::string number(const Json& value, const char* form) {
  return value.is_number() ? formatted(form, value.get<double>()) : "–";
}

struct Row {
  std::string name;
  std::vector<std::string> cells;
};

std::string table(const std::vector<std::string>& head, const std::vector<Row>& rows) {
  std::string out = "|", line = "|";
  for (const auto& cell : head) {
    out += " " + cell + " |";
    line += line.size() == 1 ? " --- |" : " ---: |";
  }
  out += "\n" + line + "\n";
  for (const auto& row : rows) {
    out += "| " + row.name + " |";
    for (const auto& cell : row.cells) out += " " + cell + " |";
    out += "\n";
  }
  return out;
}

std::string scored(const Json& contents, const std::string& metric, const Json& score) {
  const bool share = contents["metrics"].contains(metric) && contents["metrics"][metric]["proportion"].get<bool>();
  const auto shown = [&](const char* key) {
    if (!score.contains(key) || !score[key].is_number()) return std::string("–");
    return share ? number(100 * score[key].get<double>(), "%.2f") : number(score[key]);
  };
  std::string text = shown("value");
  if (share && text != "–") text += " %";
  if (score.contains("low") && score["low"] != score["high"]) text += " [" + shown("low") + ", " + shown("high") + "]";
  return text;
}

// The model is for another processor than the one that it was timed on.
bool is_timed_elsewhere(const Json& contents) {
  const Json& result = contents["result"];
  return result.contains("faster") && result["faster"].is_null();
}

double greatest_size(const std::vector<Json>& searches) {
  double out = 0;
  for (const auto& contents : searches) out = std::max(out, contents["result"].value(Pointer("/baseline/bytes"), 0.0));
  return out;
}

// Of all searches, those of the first one first.
std::vector<std::string> metrics_of(const std::vector<Json>& searches) {
  std::vector<std::string> out;
  for (const auto& contents : searches) {
    for (const auto& [name, facts] : contents["metrics"].items()) {
      if (std::ranges::find(out, name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

// One row a metric (hold-out below it), then what the model costs; two columns, float and best, for every search.
std::vector<Row> rows_of(const std::vector<Json>& searches) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const auto& cell) {
    Row row{name, {}};
    for (const auto& contents : searches) {
      for (const char* side : {"baseline", "best"}) row.cells.push_back(cell(contents, contents["result"].value(side, Json())));
    }
    rows.push_back(std::move(row));
  };
  for (const auto& name : metrics_of(searches)) {
    for (const char* split : {"metrics", "holdout"}) {
      const auto has = [&](const Json& contents) {
        return contents["result"].value(Pointer(std::string("/best/") + split), Json()).contains(name);
      };
      if (std::ranges::none_of(searches, has)) continue;
      add(inert(name) + (std::string(split) == "holdout" ? " (hold-out)" : ""), [&](const Json& contents, const Json& side) {
        return scored(contents, name,
                      side.is_object() ? side.value(Pointer("/" + std::string(split)) / name, Json::object()) : Json::object());
      });
    }
  }
  const auto cost = [&](const std::string& name, const char* path, double unit) {
    add(name, [&](const Json&, const Json& side) {
      const Json value = side.is_object() ? side.value(Pointer(path), Json()) : Json();
      return value.is_number() ? number(value.get<double>() / unit) : std::string("–");
    });
  };
  const ByteUnit unit = unit_of_bytes(greatest_size(searches));
  cost(std::string("size, ") + unit.name, "/bytes", unit.bytes);
  cost(std::ranges::any_of(searches, is_timed_elsewhere) ? "latency, ms (this machine, not the target)" : "latency, ms",
       "/latency_ms/median", 1);
  cost("operators in float", "/operators/float", 1);
  return rows;
}

std::string summary_of(const Json& contents) {
  const Json& result = contents["result"];
  const auto count = [&](const char* kind) {
    return std::to_string(result.value(Pointer(std::string("/trials/") + kind), size_t{0}));
  };
  const Json seconds = result.value("seconds", Json());
  const std::string reason = result.value("reason", "");
  std::string out = "Status **" + inert(result.value("status", std::string())) + "**" +
                    (reason.empty() ? "" : ": " + inert(reason)) + ". " + count("executed") + " trials executed, " +
                    count("duplicate") + " duplicates, " + count("pruned") + " pruned, " + count("failed") + " failed" +
                    (seconds.is_number() ? ", " + seconds_in_words(seconds.get<double>()) : "") + ".\n";
  return out;
}

std::string parameters_of(const Json& contents) {
  const Json best = contents["result"].value(Pointer("/best/params"), Json::object());
  if (best.empty()) return "";
  std::vector<Row> rows;
  for (const auto& [name, value] : best.items()) {
    double share = NAN;
    for (const auto& item : contents["importance"]) {
      if (item["name"] == name) share = item["share"];
    }
    rows.push_back({inert(name),
                    {inert(value.is_string() ? value.get<std::string>() : value.dump()),
                     std::isnan(share) ? "" : number(100 * share, "%.1f") + " %"}});
  }
  return "\n" + table({"parameter", "best", "importance"}, rows);
}

// Of a pipeline: each model as a file of its own.
std::string models_of(const Json& contents) {
  const Json models = contents["result"].value(Pointer("/best/models"), Json::array());
  if (models.empty()) return "";
  std::vector<Row> rows;
  for (const Json& model : models) {
    const double share = model.at("bytes").get<double>() / model.at("float_bytes").get<double>();
    rows.push_back({inert(model.at("name")),
                    {inert(model.at("file")), number(model.at("bytes").get<double>() / 1e6) + " MB",
                     number(100 * share, "%.1f") + " %", number(model.at("bits"), "%.3g"),
                     model.at("operators").at("quantized").dump(), model.at("operators").at("float").dump()}});
  }
  return "\n" + table({"model", "file", "size", "of float", "bits a weight", "operators in integers", "in float"}, rows);
}

class Markdown final : public Writer {
 public:
  std::string write(const std::vector<Json>& searches) const override {
    std::string out;
    std::vector<std::string> head{""};
    for (const auto& contents : searches) {
      const std::string name = inert(contents.value("name", contents.value("title", std::string())));
      out += "## Quasar: " + name + "\n" + summary_of(contents) + "\n";
      for (const char* side : {"float", "best"}) head.push_back(searches.size() > 1 ? name + ", " + side : side);
    }
    out += table(head, rows_of(searches));
    for (const auto& contents : searches) out += parameters_of(contents);
    for (const auto& contents : searches) out += models_of(contents);
    if (searches.size() > 1) return out;
    out += "\n";
    if (searches.front().contains("needs"))
      out += "- best.onnx needs " + inert(searches.front()["needs"].get<std::string>()) + "\n";
    for (const auto& sentence : searches.front()["sureness"]) out += "- " + inert(sentence.get<std::string>()) + "\n";
    for (const auto& advice : searches.front()["advice"]) out += "- " + inert_but_code(advice.get<std::string>()) + "\n";
    return out;
  }
};

}  // namespace

Entry<Writer> markdown() {
  return {"Tables for a pull request or a wiki.", make_as<Markdown, Writer>};
}

}  // namespace quasar::report::writers
