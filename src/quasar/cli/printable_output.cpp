#include "quasar/cli/printable_output.hpp"

#include <unistd.h>

#include <iostream>
#include <streambuf>

#include "quasar/base/printable.hpp"

namespace quasar::cli {

class PrintableOutput::Buffer : public std::streambuf {
 public:
  explicit Buffer(std::streambuf* to) : to_(to) {}

  std::streambuf* to() const { return to_; }

 protected:
  int overflow(int c) override {
    if (c == traits_type::eof()) return sync() == 0 ? 0 : c;
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }

  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::string shown = printable({text, static_cast<size_t>(size)});
    const auto length = static_cast<std::streamsize>(shown.size());
    return to_->sputn(shown.data(), length) == length ? size : 0;
  }

  int sync() override { return to_->pubsync(); }

 private:
  std::streambuf* to_;
};

PrintableOutput::PrintableOutput() {
  if (isatty(STDOUT_FILENO) == 0) return;
  buffer_ = std::make_unique<Buffer>(std::cout.rdbuf());
  std::cout.rdbuf(buffer_.get());
}

PrintableOutput::~PrintableOutput() {
  if (buffer_ != nullptr) std::cout.rdbuf(buffer_->to());
}

}  // namespace quasar::cli
