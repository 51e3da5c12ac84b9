// Extension folders: one file is one extension, and its name is its registration.
//
// A file quant/codes/ranges/percentile.cpp defines `Entry<RangeMethod> percentile()` in namespace quasar::quant::ranges; CMake
// globs the folder and generates `const Table<RangeMethod>& ranges::table()`. Command-line help, error messages, `quasar
// list` and the reference documentation follow from the table.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/names.hpp"

namespace quasar {

// One option of an extension: its default, and what is allowed.
struct OptionSpec {
  std::string name;
  Json fallback;  // the default; null: none. Its type is the option's type
  std::string help;
  std::optional<double> low = {};  // numbers: inclusive bounds
  std::optional<double> high = {};
  std::vector<std::string> choices = {};  // texts: the allowed values (matched by normalized name)
  std::vector<std::string> aliases = {};  // other spellings of the name
  bool local = false;                     // of a search's keys: its processes need not agree, since it is about their machines
};

// The options of one extension, checked against its specifications, with defaults filled in.
class QUASAR_API Options {
 public:
  Options() = default;
  // Throws Error for an unknown name (with the nearest valid one), a wrong type, or a value out of bounds; `owner` is named
  // in the message ("reader npz").
  Options(const std::vector<OptionSpec>& specs, const Json& given, const std::string& owner);

  bool has(std::string_view name) const;    // given or with a default other than null
  bool given(std::string_view name) const;  // by the user
  double real(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;
  const Json& json(std::string_view name) const;
  const Json& all() const { return values_; }

 private:
  Json values_ = Json::object();
  std::vector<std::string> given_;
};

template <class T>
struct Entry {
  std::string help;  // one sentence
  std::function<std::unique_ptr<T>(const Options&)> make;
  std::vector<OptionSpec> options = {};
  std::vector<std::string> aliases = {};  // other names users know it by
  bool hidden = false;                    // of a registration whose name the program made up: no message tells it
};

// make<X>: the usual Entry::make, for an X that is constructed from Options or from nothing.
template <class X, class T>
std::unique_ptr<T> make_as(const Options& options) {
  if constexpr (std::is_constructible_v<X, const Options&>) {
    return std::make_unique<X>(options);
  } else {
    return std::make_unique<X>();
  }
}

template <class T>
class Registration;

// All extensions of one folder, in alphabetical order; and registrations, which are found by name like the others, but not
// listed.
template <class T>
class Table {
 public:
  using Item = std::pair<std::string, Entry<T>>;
  Table(std::string kind, std::vector<Item> items) : kind_(std::move(kind)), items_(std::move(items)) {}

  const std::string& kind() const { return kind_; }
  const std::vector<Item>& items() const { return items_; }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& item : items_) out.push_back(item.first);
    return out;
  }

  // What users may write: names, and aliases that are other words.
  std::vector<std::string> spellings() const {
    std::vector<std::string> out = names();
    for (const auto& item : items_) out.insert(out.end(), item.second.aliases.begin(), item.second.aliases.end());
    return out;
  }

  // By name or alias, without regard to case, '-' and '_'; nullptr when there is none. A registration's item holds as long as the
  // registration.
  const Item* try_find(std::string_view name) const {
    const std::string wanted = normalized(name);
    for (const auto& item : items_) {
      if (normalized(item.first) == wanted) return &item;
      for (const auto& alias : item.second.aliases) {
        if (normalized(alias) == wanted) return &item;
      }
    }
    const std::lock_guard lock(guard_);
    for (const auto& item : registered_) {
      if (normalized(item.first) == wanted) return &item;
    }
    return nullptr;
  }

  // `later`: names that a later version will have; they get a message of their own.
  const Item& find(std::string_view name, const std::vector<std::string>& later = {}) const {
    if (const Item* item = try_find(name)) return *item;
    for (const auto& known : later) {
      if (normalized(known) == normalized(name))
        throw Error(kind_ + " '" + std::string(name) + "' is not yet supported; this version has " + joined(names()));
    }
    std::vector<std::string> known = names(), spelled = spellings();
    const std::lock_guard lock(guard_);
    for (auto* list : {&known, &spelled}) {
      for (const auto& item : registered_) {
        if (!item.second.hidden) list->push_back(item.first);
      }
    }
    throw Error("unknown " + kind_ + " '" + std::string(name) + "'; known: " + joined(known) + did_you_mean(name, spelled));
  }

  // The canonical name of an extension; throws Error when it is unknown.
  const std::string& resolve(std::string_view name, const std::vector<std::string>& later = {}) const {
    return find(name, later).first;
  }

  std::unique_ptr<T> make(std::string_view name, const Json& options = Json::object()) const {
    const Item& item = find(name);
    return item.second.make(Options(item.second.options, options, kind_ + " " + item.first));
  }

 private:
  friend class Registration<T>;

  std::string kind_;
  std::vector<Item> items_;
  mutable std::mutex guard_;
  mutable std::list<Item> registered_;
};

// An extension that a program brings while it runs (a sampler of its own, an evaluator, samples in memory): the table knows it
// by this name for as long as the registration lives. Throws Error when the name is taken.
template <class T>
class Registration {
 public:
  Registration(const Table<T>& table, const std::string& name, Entry<T> entry) : table_(table) {
    if (table.try_find(name) != nullptr) throw Error("there is a " + table.kind() + " '" + name + "' already");
    const std::lock_guard lock(table.guard_);
    place_ = table.registered_.insert(table.registered_.end(), {name, std::move(entry)});
  }
  ~Registration() {
    const std::lock_guard lock(table_.guard_);
    table_.registered_.erase(place_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  const std::string& name() const { return place_->first; }

 private:
  const Table<T>& table_;
  typename std::list<typename Table<T>::Item>::iterator place_;
};

}  // namespace quasar
