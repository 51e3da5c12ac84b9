#include "quasar/studies/written_result.hpp"

#include <algorithm>
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// What reports and searches rely on. Every key may be missing, and best is null where nothing was found.
struct Expected {
  const char* place;
  const char* kind;  // in words, for messages
  bool (*fits)(const Json&);
};

bool is_a_text(const Json& value) {
  return value.is_string();
}

bool is_an_object(const Json& value) {
  return value.is_object();
}

bool is_null_or_an_object(const Json& value) {
  return value.is_null() || value.is_object();
}

bool is_a_list_of_texts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, is_a_text);
}

bool is_a_list_of_objects(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, is_an_object);
}

constexpr std::array all_expected{
    Expected{"/status", "a text", is_a_text},
    Expected{"/study", "a text", is_a_text},
    Expected{"/study_name", "a text", is_a_text},
    Expected{"/objectives", "a list of objects", is_a_list_of_objects},
    Expected{"/warnings", "a list of texts", is_a_list_of_texts},
    Expected{"/trials", "an object", is_an_object},
    Expected{"/baseline", "an object", is_an_object},
    Expected{"/baseline/model", "a text", is_a_text},
    Expected{"/baseline/metrics", "an object", is_an_object},
    Expected{"/best", "an object, or null", is_null_or_an_object},
    Expected{"/best/metrics", "an object", is_an_object},
    Expected{"/best/holdout", "an object", is_an_object},
    Expected{"/best/layers", "a list of objects", is_a_list_of_objects},
    Expected{"/best/flips", "an object", is_an_object},
    Expected{"/best/evidence", "an object", is_an_object},
    Expected{"/candidates", "a list of objects", is_a_list_of_objects},
};

// "best.layers"
std::string dotted(const char* place) {
  std::string key = place + 1;
  std::ranges::replace(key, '/', '.');
  return key;
}

std::string file_in(const fs::path& folder) {
  return "result.json of '" + folder.string() + "'";
}

}  // namespace

Json read_result(const fs::path& folder) {
  const fs::path file = folder / "result.json";
  if (!fs::exists(file)) return nullptr;
  Json out = parse_json(read_file(file), file.string());
  if (!out.is_object()) throw Error(file_in(folder) + " must be an object: it is damaged");
  for (const Expected& one : all_expected) {
    const Json::json_pointer place(one.place);
    if (out.contains(place) && !one.fits(out.at(place)))
      throw Error(file_in(folder) + ": " + dotted(one.place) + " must be " + one.kind + ": the file is damaged");
  }
  return out;
}

void refuse_result(const fs::path& folder, const Json::exception& why) {
  const std::string words = why.what();  // "[json.exception.type_error.302] type must be …"
  const size_t end = words.find("] ");
  throw Error(file_in(folder) + " is damaged: " + (end == std::string::npos ? words : words.substr(end + 2)));
}

}  // namespace quasar::tune
