# Each vendor's walk, polled through the agent and held against a reading of the same walk that shares nothing with us.
find_program(PYTHON3 python3 REQUIRED)
add_test(NAME golden.profiles COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/profiles/run.py $<TARGET_FILE:rocewatch>)
set_tests_properties(golden.profiles PROPERTIES LABELS golden TIMEOUT 300 SKIP_RETURN_CODE 77 COST 25)
