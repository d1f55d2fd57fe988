# clang.cmake - the toolchain of the presets `asan` and `fuzz`: the clang that scripts/packages.txt asks for, the best first.
# -DRW_CLANG=PROGRAM takes another one.
find_program(RW_CLANG NAMES clang-14 clang-19 clang)
if(NOT RW_CLANG)
	message(FATAL_ERROR "no clang-14, clang-19 or clang here: install what scripts/packages.txt names, or set RW_CLANG")
endif()
set(CMAKE_C_COMPILER ${RW_CLANG})
