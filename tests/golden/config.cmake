# config/<case>/: input.yaml, what `rocewatch config check input.yaml` answers in expected.txt, and optionally the command itself in command.txt.
# `cmake --build . --target golden_config_update` rewrites the answers; review the diff.
file(GLOB cases RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/config CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/config/*/input.yaml)
add_custom_target(golden_config_update)
foreach(file ${cases})
	get_filename_component(case ${file} DIRECTORY)
	set(run ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:rocewatch> -DCASE=${CMAKE_CURRENT_SOURCE_DIR}/config/${case})
	add_test(NAME golden.config.${case} COMMAND ${run} -P ${CMAKE_CURRENT_SOURCE_DIR}/config/run.cmake)
	set_tests_properties(golden.config.${case} PROPERTIES LABELS golden TIMEOUT 60)
	add_custom_command(TARGET golden_config_update POST_BUILD COMMAND ${run} -DUPDATE=ON -P ${CMAKE_CURRENT_SOURCE_DIR}/config/run.cmake VERBATIM)
endforeach()
add_dependencies(golden_config_update rocewatch)
