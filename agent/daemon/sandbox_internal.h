/* sandbox_internal - what the files of the sandbox share. */
#ifndef RW_AGENT_SANDBOX_INTERNAL_H
#define RW_AGENT_SANDBOX_INTERNAL_H

/* RW_SANITIZED - 1 in builds with a sanitizer, whose runtime maps shadow memory, traces its own
 * process, and runs a symbolizer. */
#define RW_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef RW_SANITIZED
#define RW_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef RW_SANITIZED
#define RW_SANITIZED 1
#endif
#endif

#endif
