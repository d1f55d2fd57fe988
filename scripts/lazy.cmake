# lazy.cmake - libraries that the program loads when a command needs them (base/lazy_library.h says why).

# rw_lazy_calls(name library HEADERS header... CALLS function...) - lazy/<name>_calls.h in the build tree: it includes the headers and
# makes each function's name stand for a pointer of the same type. lazy/<name>_calls.c has the table and <name>_calls_load(). Sets
# RW_LAZY_<name> to the path of the source. `library` is the shared library that the linker would take.
set(RW_LAZY_LIBRARIES "") # the files
set(RW_LAZY_SONAMES "") # their names, as the loader asks for them
function(rw_lazy_calls name library)
	cmake_parse_arguments(LAZY "" "" "HEADERS;CALLS" ${ARGN})
	execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
	if(NOT dynamic MATCHES "SONAME[^[]*\\[([^]]+)\\]")
		message(FATAL_ERROR "${library} has no SONAME: it is no shared library that can be loaded")
	endif()
	set(soname ${CMAKE_MATCH_1})
	set(includes "")
	foreach(header ${LAZY_HEADERS})
		string(APPEND includes "#include <${header}>\n")
	endforeach()
	set(members "")
	set(names "")
	set(defines "")
	foreach(call ${LAZY_CALLS})
		string(APPEND members "\t__typeof__(&${call}) ${call};\n")
		string(APPEND names "\t\"${call}\",\n")
		string(APPEND defines "#undef ${call}\n#define ${call} ${name}_calls.${call}\n")
	endforeach()
	set(CONTENT "/* Made by scripts/lazy.cmake: ${soname}, loaded when it is used. */
#ifndef RW_LAZY_${name}_CALLS_H
#define RW_LAZY_${name}_CALLS_H

${includes}
struct err;

extern struct ${name}_calls {
${members}} ${name}_calls;
/* 0, or -ENOENT with @e; before the first call of a function below, and before the process closes itself up */
int ${name}_calls_load(struct err *e);

${defines}
#endif
")
	file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/lazy/${name}_calls.h CONTENT "@CONTENT@" @ONLY)
	set(CONTENT "/* Made by scripts/lazy.cmake. */
#include \"lazy/${name}_calls.h\"

#include \"base/lazy_library.h\"

struct ${name}_calls ${name}_calls;

static const char *const names[] = {
${names}};

static struct lazy_library library = {
	.file = \"${soname}\",
	.names = names,
	.calls = (void **)&${name}_calls,
	.n = sizeof(names) / sizeof(names[0]),
};

int ${name}_calls_load(struct err *e)
{
	return lazy_library_load(&library, e);
}
")
	file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/lazy/${name}_calls.c CONTENT "@CONTENT@" @ONLY)
	set(RW_LAZY_${name} ${CMAKE_BINARY_DIR}/lazy/${name}_calls.c PARENT_SCOPE)
	set(RW_LAZY_LIBRARIES ${RW_LAZY_LIBRARIES} ${library} PARENT_SCOPE)
	set(RW_LAZY_SONAMES ${RW_LAZY_SONAMES} ${soname} PARENT_SCOPE)
endfunction()
