// Addresses of servers that somebody mistyped, which would be taken for the names of files, passwords and all.
#pragma once

#include <string>

namespace quasar::search {

// Throws Error, which says how an address looks and shows nothing of this one's secrets, for "postgresql:/me:secret@host/db",
// "postgresql//…", "postgres:…" and libpq's own "host=… password=…". What is there under this name is a file or a folder, as is
// all below a folder of the root, such as a run's folder called by its time and host. `what` begins the message:
// "study_storage_db".
void refuse_misspelt(const std::string& what, const std::string& place);

}  // namespace quasar::search
