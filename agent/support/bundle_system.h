/* bundle_system - facts about the machine: kernel, limits, memory, disk, clock. No secrets, no
 * names of other processes. */
#ifndef RW_SUPPORT_BUNDLE_SYSTEM_H
#define RW_SUPPORT_BUNDLE_SYSTEM_H

struct str;

/* bundle_system_add - as text. @db_path: the database, whose disk and files are looked at; NULL. */
void bundle_system_add(struct str *out, const char *db_path);

#endif
