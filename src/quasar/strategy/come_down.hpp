// The end of a search by repair: operators that were given up return to 8 bits, as long as the goal holds.
#pragma once

#include "quasar/strategy/repair_notes.hpp"
#include "quasar/strategy/trials_ahead.hpp"
#include "quasar/trial/foresight.hpp"

namespace quasar::tune {

// From the rung on which they are to 8 bits, and those that cannot, to the cheapest rung that they can be on; halves of them,
// quarters … and single operators, the least sensitive first, until no single one can any more; one whose trial was given up
// early, as out of reach, is not asked again. `notes` knows a trial that is accurate, and hears of every one.
// Where `foresight` can tell, the way goes on in it without trials as far as it promises success, and one trial shows whether
// that holds; single operators are then asked only where it says that they nearly may.
void come_down(const search::Space& space, TrialsAhead& trials, RepairNotes& notes, Foresight& foresight);

// The beginning of that way alone, which is foreseen. -> whether `foresight` could tell
bool come_down_as_foreseen(const search::Space& space, TrialsAhead& trials, RepairNotes& notes, Foresight& foresight);

}  // namespace quasar::tune
