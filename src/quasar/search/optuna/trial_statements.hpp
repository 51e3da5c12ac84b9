// Changes of a trial on PostgreSQL, each with all that belongs to it in one statement: one journey to the server, and atomic by
// itself. What wakes processes that wait is told in the same statement (NOTIFY), which others hear when it is committed.
#pragma once

#include <soci/soci.h>

#include <string>

#include "quasar/search/optuna/optuna_rows.hpp"
#include "quasar/search/postgresql/postgresql_statement.hpp"

namespace quasar::search::optuna {

// The channel on which a study's processes hear that a trial has ended or waits, and that on which everybody hears of words that
// are left for others; these carry the study's id.
std::string trials_channel(int64_t study);
int64_t study_of_channel(const std::string& channel);  // 0: it is another one
inline constexpr const char* words_channel = "quasar";

// Stores a trial that begins, and its first heartbeat; gives it its id and number. Whoever calls has locked the study.
void insert_begun(const Prepared& sql, int64_t study, Trial& trial, const std::vector<TrialWriter::Parameter>& parameters);

// waiting -> running, with attributes, heartbeat and these parameters, as far as it has none. false: it is not waiting.
bool update_resumed(soci::session& sql, const Trial& trial, const std::vector<TrialWriter::Parameter>& parameters);

// -> its final state, with values, attributes and end; the study's processes are told. false: it is finished.
bool update_ended(const Prepared& sql, int64_t study, const Trial& trial);

// running -> waiting; the study's processes are told. false: it is not running.
bool update_released(soci::session& sql, int64_t study, const Trial& trial);

// A study's user attribute, of which everybody is told.
void write_word(soci::session& sql, int64_t study, const std::string& key, const std::string& text);

}  // namespace quasar::search::optuna
