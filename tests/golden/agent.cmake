# replay/<case>/: a recorded case and what rocewatch says of it (expected.txt). make_cases.py writes the inputs, the target
# golden_replay_update the answers; review the diff.
file(GLOB cases RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/replay CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/replay/*/samples.tsv)
add_custom_target(golden_replay_update)
foreach(file ${cases})
	get_filename_component(case ${file} DIRECTORY)
	set(run ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:rocewatch> -DCASE=${CMAKE_CURRENT_SOURCE_DIR}/replay/${case} -DTMP=${CMAKE_CURRENT_BINARY_DIR})
	add_test(NAME golden.replay.${case} COMMAND ${run} -P ${CMAKE_CURRENT_SOURCE_DIR}/replay/run.cmake)
	set_tests_properties(golden.replay.${case} PROPERTIES LABELS golden TIMEOUT 60)
	add_custom_command(TARGET golden_replay_update POST_BUILD COMMAND ${run} -DUPDATE=ON -P ${CMAKE_CURRENT_SOURCE_DIR}/replay/run.cmake VERBATIM)
endforeach()
add_dependencies(golden_replay_update rocewatch)
