// libjpeg-turbo's errors as jumps. No frame between the jump and its target holds anything to destroy.
#pragma once

// jpeglib.h needs FILE.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>

namespace quasar::data::jpeg {

// Errors set `text` and jump to `target`, which is to be set by setjmp before each call that may fail.
struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf target;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] inline void fail(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  (*info->err->format_message)(info, errors->text);
  std::longjmp(errors->target, 1);
}

// For the `err` of a decoder or an encoder.
inline jpeg_error_mgr* jumping(Errors& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = fail;
  return &errors.base;
}

}  // namespace quasar::data::jpeg
