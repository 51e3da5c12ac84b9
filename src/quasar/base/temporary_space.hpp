// Whether there is room for temporary files: what fails without it says nothing of whoever needed some.
#pragma once

namespace quasar {

// Throws Error of the world when nothing can be written to the folder of temporary files ($TMPDIR), or it is not there.
void require_temporary_space();

}  // namespace quasar
