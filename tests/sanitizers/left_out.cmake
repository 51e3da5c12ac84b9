# The tests that a build with sanitizers leaves out, and why. ctest reads this after all tests (../CMakeLists.txt) and lists them as
# disabled. `sanitizer` is what the build was made with.
function(left_out build test reason)
  if(sanitizer MATCHES ${build})
    set_tests_properties(${test} PROPERTIES DISABLED TRUE)
  endif()
endfunction()
set(every ".")

left_out(${every} install.consumer "what is installed would need the sanitizer's library in every program that uses it")
left_out(${every} python.package "Python itself is not instrumented, and refuses a library that is")
left_out(${every} faults "kills at moments that instrumented code has not reached, and limits memory, of which sanitizers reserve terabytes")
left_out(${every} unit_base.MemoryCap.WhatIsTooMuchFailsAndCanBeHadAfterwards "sanitizers end the program where memory is refused")
left_out(${every} unit_base.MemoryCap.IsLiftedForAMoment "as above")
left_out(${every} unit_base.MemoryCap.HoldsWhileOneWhoIsFreeOfItWaits "as above")
left_out(${every} e2e.HardConditions.AMemoryLimitEndsTrialsAndNeverTheSearch "as above")
left_out(${every} e2e.HardModels.ShapesBeyondTheMachineInside "as above: here ONNX Runtime asks for more than any memory holds")
