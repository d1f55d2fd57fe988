# Golden cases of the analyzers: tests/golden/<analyzer>/<case>/{fabric.yaml, samples.tsv[, flows.tsv], findings.txt}.
# A new case is a folder; "ninja golden_analyzers_update" writes findings.txt of all of them: read the diff before it is committed.
add_executable(golden_analyze analyze.c)
target_link_libraries(golden_analyze PRIVATE rw_analyzers rw_collectors rw_config rw_db)
set(rewrite "")
foreach(analyzer ${RW_ANALYZERS})
	file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${analyzer}/*/samples.tsv)
	foreach(samples ${cases})
		get_filename_component(case ${samples} DIRECTORY)
		get_filename_component(name ${case} NAME)
		add_test(NAME golden.${analyzer}.${name} COMMAND ${CMAKE_COMMAND} -DANALYZE=$<TARGET_FILE:golden_analyze> -DANALYZER=${analyzer} -DCASE=${case}
			-P ${CMAKE_CURRENT_SOURCE_DIR}/analyzers_run.cmake)
		set_tests_properties(golden.${analyzer}.${name} PROPERTIES LABELS golden TIMEOUT 120)
		list(APPEND rewrite COMMAND ${CMAKE_COMMAND} -DANALYZE=$<TARGET_FILE:golden_analyze> -DANALYZER=${analyzer} -DCASE=${case} -DUPDATE=ON
			-P ${CMAKE_CURRENT_SOURCE_DIR}/analyzers_run.cmake)
	endforeach()
endforeach()
add_custom_target(golden_analyzers_update ${rewrite} DEPENDS golden_analyze VERBATIM)
