/*
 * lazy_library - a shared library that is loaded by the commands that use it, and by no other.
 *
 * gRPC, libcurl and libmicrohttpd bring eighty shared objects along; loading and relocating them
 * took 13 of the 17 ms of CPU time that a command needed to begin, and most commands use none of
 * them.
 *
 * Who uses such a library lists the functions it calls, and includes the list after the library's
 * own header: each name then stands for a pointer in a table, of the type that the header declares.
 * A pointer is NULL until lazy_library_load() succeeded.
 */
#pragma once

#include <stddef.h>

struct err;

struct lazy_library {
	const char *file; /* as the dynamic linker looks for it: "libcurl.so.4" */
	const char *const *names; /* the functions, .n of them */
	void **calls; /* where the address of each goes */
	size_t n;
	void *handle; /* NULL: not loaded */
};

/*
 * lazy_library_load - loads @library once; the next call does nothing. Never unloaded.
 *
 * On any thread, but before the process closes itself up: afterwards it may open no more files.
 * Returns 0, or -ENOENT with @e: the library, or a function in it, is not there; nothing of it may
 * be called then.
 */
int lazy_library_load(struct lazy_library *library, struct err *e);

/* For the lists: LAZY_CALL(f) is a member of the table, LAZY_NAME(f) its name. */
#define LAZY_CALL(function) __typeof__(&(function)) function;
#define LAZY_NAME(function) #function,
