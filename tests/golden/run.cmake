# run.cmake - one golden case: run it, compare what it says with its answer.
#
#   cmake -DRUNNER=command|import|replay|story|analyze -DPROGRAM=rocewatch -DCASE=folder -DANSWERS=folder -DTMP=folder [-DUPDATE=ON] -P run.cmake
#
# CASE holds the inputs, ANSWERS the answer. RUNNER says how the case is run: golden_run_<RUNNER>() below sets `got`. UPDATE=ON
# rewrites the answer instead of comparing it.
cmake_minimum_required(VERSION 3.25)

# A test must not see the site's configuration.
unset(ENV{ROCEWATCH_CONFIG})
string(RANDOM LENGTH 12 word) # tests run side by side
set(answer expected.txt)
set(HANG_S 900) # as in tests/patience.py

# A command in the case's folder: exit code, stdout and stderr.
function(golden_command)
	execute_process(COMMAND ${PROGRAM} ${ARGN} WORKING_DIRECTORY ${CASE} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT ${HANG_S})
	set(code ${code} PARENT_SCOPE)
	set(out "${out}" PARENT_SCOPE)
	set(got "exit ${code}\n--- stdout\n${out}--- stderr\n${err}" PARENT_SCOPE)
endfunction()

# command: `config check input.yaml`, or the words in command.txt.
macro(golden_run_command)
	set(command "config check input.yaml")
	if(EXISTS ${CASE}/command.txt)
		file(READ ${CASE}/command.txt command)
		string(STRIP "${command}" command)
	endif()
	separate_arguments(words UNIX_COMMAND "${command}")
	golden_command(${words})
endmacro()

# import: `config import sonic` (nvue, where there is nvue.json) over the files in files.txt; `config check` must take what it prints.
macro(golden_run_import)
	file(READ ${CASE}/files.txt files)
	string(STRIP "${files}" files)
	separate_arguments(files UNIX_COMMAND "${files}")
	set(format sonic)
	if(EXISTS ${CASE}/nvue.json)
		set(format nvue)
	endif()
	golden_command(config import ${format} ${files})
	if(code EQUAL 0)
		set(imported ${TMP}/import-${word}.yaml)
		file(WRITE ${imported} "${out}")
		execute_process(COMMAND ${PROGRAM} config check ${imported} RESULT_VARIABLE refused OUTPUT_VARIABLE text ERROR_VARIABLE err TIMEOUT ${HANG_S})
		file(REMOVE ${imported})
		if(NOT refused EQUAL 0)
			message(FATAL_ERROR "config check refuses what was imported:\n${text}${err}")
		endif()
	endif()
endmacro()

# replay: what `replay --from . --db OUT.db` says, and whether OUT.db is there. The same replay of OUT.db must say the same.
macro(golden_run_replay)
	set(db ${TMP}/replay-${word}.db)
	execute_process(COMMAND ${PROGRAM} replay --from . --format json --db ${db} WORKING_DIRECTORY ${CASE}
		OUTPUT_VARIABLE stdout ERROR_VARIABLE stderr RESULT_VARIABLE code)
	set(kept "no database")
	if(EXISTS ${db})
		set(kept "database kept")
		execute_process(COMMAND ${PROGRAM} replay --from ${db} --format json WORKING_DIRECTORY ${CASE} OUTPUT_VARIABLE again RESULT_VARIABLE code_again)
		golden_unlike_counts(first "${stdout}")
		golden_unlike_counts(second "${again}")
		if(NOT first STREQUAL second)
			file(WRITE ${TMP}/replay-${word}.first "${stdout}")
			file(WRITE ${TMP}/replay-${word}.again "${again}")
			message(FATAL_ERROR "replaying the database gives another answer: diff ${TMP}/replay-${word}.first ${TMP}/replay-${word}.again")
		endif()
	endif()
	file(GLOB left ${db} ${db}-* ${db}.*)
	if(NOT code EQUAL 0 AND left)
		message(FATAL_ERROR "left behind: ${left}")
	endif()
	if(left)
		file(REMOVE ${left})
	endif()
	# These two counts depend on how many analyzers there are.
	string(REGEX REPLACE "\"(windows|findings)\": [0-9]+,\n  \"(findings|incidents)\"" "\"\\1\": -,\n  \"\\2\"" stdout "${stdout}")
	string(REGEX REPLACE "\"findings\": [0-9]+,\n  \"incidents\"" "\"findings\": -,\n  \"incidents\"" stdout "${stdout}")
	set(got "exit ${code}, ${kept}\n${stdout}${stderr}")
endmacro()

# Duplicates are not stored: their count, and that of the samples, differ when the database is replayed.
function(golden_unlike_counts variable text)
	string(REGEX REPLACE "\"duplicates\": [0-9]+" "\"duplicates\": -" text "${text}")
	string(REGEX REPLACE "\"samples\": [0-9]+," "" text "${text}")
	set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# story: the case that case.txt names is replayed into a database and asked the commands of commands.txt, one a line.
# {ID} is the worst incident's id, {TMP} a folder of the test's own.
macro(golden_run_story)
	set(tmp ${TMP}/story-${word})
	file(MAKE_DIRECTORY ${tmp})
	file(STRINGS ${CASE}/case.txt source)
	execute_process(COMMAND ${PROGRAM} replay --from ${CASE}/${source} --db ${tmp}/out.db --format json OUTPUT_VARIABLE document RESULT_VARIABLE code)
	if(NOT code EQUAL 0)
		message(FATAL_ERROR "replay of ${source} failed")
	endif()
	string(JSON id ERROR_VARIABLE none GET "${document}" incidents 0 id)
	set(got "")
	file(STRINGS ${CASE}/commands.txt commands)
	foreach(line ${commands})
		string(APPEND got "$ rocewatch ${line}\n")
		string(REPLACE "{ID}" "${id}" line "${line}")
		string(REPLACE "{TMP}" "${tmp}" line "${line}")
		separate_arguments(words UNIX_COMMAND "${line}")
		set(db --db ${tmp}/out.db)
		if(line MATCHES "^replay ")
			set(db "")
		endif()
		execute_process(COMMAND ${PROGRAM} ${words} ${db} WORKING_DIRECTORY ${CASE} OUTPUT_VARIABLE stdout ERROR_VARIABLE stderr RESULT_VARIABLE code)
		string(APPEND got "${stdout}${stderr}exit ${code}\n\n")
	endforeach()
	string(REPLACE "${tmp}" "{TMP}" got "${got}")
	# Who ran the test.
	execute_process(COMMAND id -un OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
	string(REPLACE " by ${user}:" " by {USER}:" got "${got}")
	# This count depends on how many analyzers there are.
	string(REGEX REPLACE "[0-9]+ windows, incidents" "- windows, incidents" got "${got}")
	file(REMOVE_RECURSE ${tmp})
endmacro()

# analyze: the findings of one analyzer.
macro(golden_run_analyze)
	set(answer findings.txt)
	execute_process(COMMAND ${ANALYZE} ${ANALYZER} ${CASE} OUTPUT_VARIABLE got ERROR_VARIABLE err RESULT_VARIABLE code)
	if(NOT code EQUAL 0)
		message(FATAL_ERROR "${CASE}: exit ${code}\n${err}")
	endif()
endmacro()

if(NOT IS_DIRECTORY ${CASE})
	message(FATAL_ERROR "this case has no inputs yet: build the target golden_inputs. If it has none then, no generator makes it: ${CASE}")
endif()
cmake_language(CALL golden_run_${RUNNER})

if(UPDATE)
	file(WRITE ${ANSWERS}/${answer} "${got}")
	return()
endif()
if(NOT EXISTS ${ANSWERS}/${answer})
	message(FATAL_ERROR "nobody answers this case: build its golden_..._update, and review ${ANSWERS}/${answer}")
endif()
file(READ ${ANSWERS}/${answer} expected)
if(NOT got STREQUAL expected)
	get_filename_component(name ${CASE} NAME)
	set(file ${TMP}/${name}-${word}.got)
	file(WRITE ${file} "${got}")
	message(FATAL_ERROR "another answer than expected: diff ${ANSWERS}/${answer} ${file}\n--- got\n${got}")
endif()
