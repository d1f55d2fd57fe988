# import/<case>/: files.txt names config_db.json files, expected.txt has what `rocewatch config import sonic` makes of them.
# `cmake --build . --target golden_import_update` rewrites the answers; review the diff.
file(GLOB cases RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/import CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/import/*/files.txt)
add_custom_target(golden_import_update)
foreach(file ${cases})
	get_filename_component(case ${file} DIRECTORY)
	set(run ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:rocewatch> -DCASE=${CMAKE_CURRENT_SOURCE_DIR}/import/${case} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/import_${case})
	add_test(NAME golden.import.${case} COMMAND ${run} -P ${CMAKE_CURRENT_SOURCE_DIR}/import/run.cmake)
	set_tests_properties(golden.import.${case} PROPERTIES LABELS golden TIMEOUT 60)
	add_custom_command(TARGET golden_import_update POST_BUILD COMMAND ${run} -DUPDATE=ON -P ${CMAKE_CURRENT_SOURCE_DIR}/import/run.cmake VERBATIM)
endforeach()
add_dependencies(golden_import_update rocewatch)
