# Runs the example in an empty folder.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${PROGRAM} ${DIGITS} ${WORK} RESULT_VARIABLE result)
if(result)
  message(FATAL_ERROR "tuning_strategy ended with ${result}")
endif()
