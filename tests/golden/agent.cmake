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

# calc in rows: names and values, the terms flattened
add_test(NAME golden.calc.csv COMMAND rocewatch calc headroom --model generic --speed 400G --cable 40m --mtu 9216B --lossless-mtu 1024B --cell 192B
	--small-packets 100% --format csv)
set_tests_properties(golden.calc.csv PROPERTIES LABELS golden TIMEOUT 60 PASS_REGULAR_EXPRESSION "^name,value\nxoff_bytes,267840\n.*\nterms.pause_frame_bytes,84\n")

# story/<case>/: commands that tell of incidents, asked of a replayed case; "ninja golden_story_update" rewrites what they said
file(GLOB stories RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/story CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/story/*/commands.txt)
add_custom_target(golden_story_update)
foreach(file ${stories})
	get_filename_component(case ${file} DIRECTORY)
	set(run ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:rocewatch> -DCASE=${CMAKE_CURRENT_SOURCE_DIR}/story/${case} -DTMP=${CMAKE_CURRENT_BINARY_DIR})
	add_test(NAME golden.story.${case} COMMAND ${run} -P ${CMAKE_CURRENT_SOURCE_DIR}/story/run.cmake)
	set_tests_properties(golden.story.${case} PROPERTIES LABELS golden TIMEOUT 60)
	add_custom_command(TARGET golden_story_update POST_BUILD COMMAND ${run} -DUPDATE=ON -P ${CMAKE_CURRENT_SOURCE_DIR}/story/run.cmake VERBATIM)
endforeach()
add_dependencies(golden_story_update rocewatch)
