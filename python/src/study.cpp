// Search spaces and studies, with ask and tell.
#include <pybind11/stl.h>

#include <filesystem>

#include "extensions.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/job/v1.hpp"
#include "quasar/job/v1_names.hpp"
#include "quasar/search/ask.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/studies/written_result.hpp"

namespace quasar::python {
namespace {

Direction direction_of(const std::string& word) {
  if (word == "minimize") return Direction::minimize;
  if (word == "maximize") return Direction::maximize;
  throw Error("direction is '" + word + "', but must be minimize or maximize");
}

// Without directions a study is opened that exists: a name that is mistyped makes neither a file nor tables.
std::unique_ptr<search::Storage> opened(const std::string& storage, bool to_make) {
  if (!to_make && search::open_to_read(storage) == nullptr)
    throw Error("there is no study in " + without_password(storage) + "; directions=[...] makes one");
  return search::open_storage(storage);
}

// The study's database in a search's output folder. Throws Error where its result.json names another place.
std::string study_in(const std::string& folder) {
  const std::filesystem::path file = std::filesystem::path(folder) / "auto_search.db";
  if (std::filesystem::exists(file)) return file.string();
  const Json result = tune::read_result(folder);
  if (!result.is_object()) return file.string();
  const std::string place = result.value("study", std::string("auto_search.db"));
  const std::string name = Json(result.value("study_name", std::string("AutoSearch"))).dump();
  if (search::is_shared_storage(place)) tune::expect_consent(folder, place, "quasar.Study(ADDRESS, " + name + ")");
  if (place == "auto_search.db") return file.string();
  const bool url = place.find("://") != std::string::npos;
  throw Error("the study of " + folder + " is in " + (url ? place : (file.parent_path() / place).string()) +
              ", says its result.json: name that in place of the folder");
}

// A study and where it is kept.
class Study {
 public:
  // `name`: "" for the only one that there is. `directions`: empty for a study that exists.
  Study(const std::string& storage, const std::string& name, const std::vector<std::string>& directions, bool resume)
      : storage_(opened(storage, !directions.empty())) {
    search::StudyOptions options{.name = name, .resume = resume};
    if (!directions.empty()) {
      options.directions.clear();
      for (const auto& word : directions) options.directions.push_back(direction_of(word));
    }
    const auto known = storage_->studies();
    if (name.empty()) {
      if (known.size() > 1)
        throw Error(without_password(storage) + " holds " + std::to_string(known.size()) + " studies; say which by name");
      options.name = known.empty() ? "AutoSearch" : known.front().name;
    }
    for (const auto& record : known) {
      if (record.name == options.name && directions.empty()) options.directions = record.directions;
    }
    if (directions.empty() && std::ranges::none_of(known, [&](const auto& record) { return record.name == options.name; }))
      throw Error(without_password(storage) + " holds no study" + (name.empty() ? "" : " '" + name + "'"));
    study_.emplace(*storage_, options);
  }

  search::Study& operator*() { return *study_; }
  const search::Study& operator*() const { return *study_; }

 private:
  std::unique_ptr<search::Storage> storage_;
  std::optional<search::Study> study_;
};

py::object ask(Study& self, const search::Space& space, const std::string& sampler, const py::object& options, uint64_t seed) {
  const auto made = search::samplers::table().make(sampler, to_json(options));
  const auto trial = search::ask(*self, space, *made, seed);
  if (!trial) return py::none();
  return to_python(*trial);
}

py::object tell(Study& self, int64_t number, const std::vector<double>& values, const std::vector<double>& constraints,
                const py::object& attributes) {
  search::Trial trial = (*self).at(number);
  if (trial.finished()) throw Error("trial " + std::to_string(number) + " has ended already");
  trial.user_attributes.update(to_json(attributes));
  return to_python(search::tell(*self, std::move(trial), values, constraints));
}

py::list trials(const Study& self) {
  py::list out;
  for (const auto& trial : (*self).trials()) out.append(to_python(trial));
  return out;
}

py::list directions(const Study& self) {
  py::list out;
  for (const auto direction : (*self).directions()) out.append(direction == Direction::minimize ? "minimize" : "maximize");
  return out;
}

py::object parameters(const search::Space& self) {
  Json out = Json::array();
  for (const auto& parameter : self.parameters()) {
    Json entry{{"name", parameter.name}};
    if (const auto* some = std::get_if<search::Categorical>(parameter.distribution.get())) {
      entry["choices"] = some->choices;
    } else if (const auto* whole = std::get_if<search::Integer>(parameter.distribution.get())) {
      entry.update({{"low", whole->low}, {"high", whole->high}, {"step", whole->step}, {"log", whole->log}});
    } else if (const auto* real = std::get_if<search::Real>(parameter.distribution.get())) {
      entry.update({{"low", real->low}, {"high", real->high}, {"log", real->log}});
      if (real->step) entry["step"] = *real->step;
    }
    out.push_back(std::move(entry));
  }
  return to_python(out);
}

// A space in either form; v1's over its base configuration.
search::Space space_of(const py::object& words, const py::object& base) {
  const Json given = to_json(words), below = to_json(base);
  if (!tune::is_v1(given)) return search::Space::parse(given);
  return search::Space::parse(tune::from_v1(given, below.is_null() ? Json::object() : below).space);
}

}  // namespace

void bind_study(py::module_& module) {
  py::class_<search::Space>(module, "Space")
      .def(py::init(&space_of), py::arg("words"), py::arg("base") = py::none())
      .def("size", &search::Space::size)
      .def("at", [](const search::Space& self, uint64_t index) { return to_python(self.decode(self.at(index))); })
      .def("sample",
           [](const search::Space& self, uint64_t seed) {
             Rng rng(seed);
             return to_python(self.decode(self.sample(rng)));
           })
      .def("parameters", &parameters);
  module.def("study_in", &study_in);
  py::class_<Study>(module, "Study")
      .def(py::init<const std::string&, const std::string&, const std::vector<std::string>&, bool>())
      .def("name", [](const Study& self) { return (*self).name(); })
      .def("directions", &directions)
      .def("attributes", [](const Study& self) { return to_python((*self).user_attributes()); })
      .def("trials", &trials)
      .def("best",
           [](const Study& self) -> py::object {
             const search::Trial* best = (*self).best();
             return best == nullptr ? py::object(py::none()) : py::object(to_python(*best));
           })
      .def("ask", &ask)
      .def("tell", &tell);
}

}  // namespace quasar::python
