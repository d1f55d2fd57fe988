/* coverage_text - which causes the devices can show, and for which they are blind, as text. */
#ifndef RW_AGENT_DOCTOR_COVERAGE_H
#define RW_AGENT_DOCTOR_COVERAGE_H

#include "base/base.h"

struct doctor_answer;

/* coverage_print - devices that are alike share their lines; a blank line ends it. */
void coverage_print(FILE *out, const struct doctor_answer *doctor);

#endif
