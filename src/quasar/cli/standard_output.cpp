#include "quasar/cli/standard_output.hpp"

#include <cerrno>
#include <iostream>
#include <streambuf>

#include "quasar/base/printable.hpp"
#include "quasar/base/system/terminal.hpp"

namespace quasar::cli {

Log on_standard_error() {
  return [](Level, const std::string& text) { std::cerr << printable_message(text) << "\n"; };
}

class StandardOutput::Buffer : public std::streambuf {
 public:
  Buffer(std::streambuf* to, bool terminal) : to_(to), terminal_(terminal) {}

  std::streambuf* to() const { return to_; }
  int failure() const { return failure_; }

 protected:
  int overflow(int c) override {
    if (c == traits_type::eof()) return sync() == 0 ? 0 : c;
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }

  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::string shown = terminal_ ? printable({text, static_cast<size_t>(size)}) : std::string();
    const auto length = terminal_ ? static_cast<std::streamsize>(shown.size()) : size;
    errno = 0;
    return noted(to_->sputn(terminal_ ? shown.data() : text, length) == length) ? size : 0;
  }

  int sync() override {
    errno = 0;
    return noted(to_->pubsync() == 0) ? 0 : -1;
  }

 private:
  // The first reason is the one that counts: what comes later is not even tried.
  bool noted(bool good) {
    if (!good && failure_ == 0) failure_ = errno != 0 ? errno : EIO;
    return good;
  }

  std::streambuf* to_;
  bool terminal_;
  int failure_ = 0;
};

StandardOutput::StandardOutput() : buffer_(std::make_unique<Buffer>(std::cout.rdbuf(), output_is_terminal())) {
  std::cout.rdbuf(buffer_.get());
}

StandardOutput::~StandardOutput() {
  std::cout.rdbuf(buffer_->to());
}

int StandardOutput::finish() {
  std::cout.flush();
  return buffer_->failure();
}

}  // namespace quasar::cli
