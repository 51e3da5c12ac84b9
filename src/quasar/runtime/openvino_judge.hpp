// OpenVINO in processes of its own, as judge_process.hpp has them: how they are started, and what they answer.
#pragma once

#include <string>
#include <vector>

#include "quasar/runtime/judge_process.hpp"

namespace quasar::runtime::openvino {

// The first argument of a program that is to call answer_questions() and nothing else.
inline constexpr const char* judge_word = "answer-for-openvino";

// Says how a program is started that calls answer_questions(): as ProcessOptions has arguments. It holds for models that are
// opened from now on.
void judge_by(std::vector<std::string> arguments);

// Processes that wait for models: those of judge_by(), else the program that the environment variable QUASAR_PROGRAM names.
// nullptr: nobody said how one is started, and models run in this process.
JudgePool* processes();

// Why models cannot run in OpenVINO here, and how to install it; "": they can.
std::string obstacle();

// {library, version, device}. Throws Error where the library cannot be opened.
Json facts();

// Answers questions from standard input until it ends; the answers go to standard output, and what OpenVINO prints to standard
// error. {"hello": 1} -> {library, version, device}; {"model": file, "inputs": [{name, type}], "outputs": [names]} -> {}, and
// with "nodes" -> {"computes": [[operation, type]]} as types_computed_in(), without a model that could run;
// {"inputs": [{name, type, shape}], "from": file, "to": file} -> {"outputs": [{type, shape}]}; with "timed" in place of "to"
// -> {"seconds": of one run}. What goes wrong: {"error": text}. -> the exit code.
int answer_questions();

}  // namespace quasar::runtime::openvino
