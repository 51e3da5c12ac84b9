// Where studies are kept: one file each in storage/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

struct StudyRecord {
  int64_t id = -1;
  std::string name;
  std::vector<Direction> directions;  // one per objective
  Json user_attributes = Json::object();
};

// A study in the hands of one process, until the object ends or the process does.
class Hold {
 public:
  Hold() = default;
  virtual ~Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

// Every call is atomic and durable when it returns, and may come from any thread. Throws Error, naming the file, when the store
// is locked, unreadable or not a study database.
//
// A trial is running from start() to finish(). release() makes it wait instead, as if it had been enqueued: its parameters stay,
// and resume() lets it run again under the same number.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::vector<StudyRecord> studies() = 0;
  virtual StudyRecord create(const std::string& name, const std::vector<Direction>& directions) = 0;  // Error: the name exists
  virtual void set_attribute(int64_t study, const std::string& key, const Json& value) = 0;           // a study's user attribute
  virtual std::vector<Trial> trials(int64_t study) = 0;                                               // by number
  virtual void start(int64_t study, Trial& trial) = 0;          // stores it as it is and gives it its id and number
  virtual void finish(int64_t study, const Trial& trial) = 0;   // state, values, intermediate values, attributes, end
  virtual void release(int64_t study, const Trial& trial) = 0;  // running -> waiting. Error: it is not running
  virtual void resume(int64_t study, const Trial& trial) = 0;   // waiting -> running from trial.start. Error: it is not waiting

  // Whoever holds a study is the only one who changes it. Throws Error, which names the holder, when somebody else does.
  virtual std::unique_ptr<Hold> hold(const StudyRecord& study) = 0;
};

// From a URL or a path: "sqlite:///relative.db", "sqlite:////absolute.db", "some/file.db", "memory". Throws Error for others.
std::unique_ptr<Storage> open_storage(const std::string& url);

}  // namespace quasar::search

namespace quasar::search::storage {
const Table<Storage>& table();
}
