/* coverage_text - which causes the devices can show, and for which they are blind, as text. */
#pragma once

#include "base/base.h"

struct doctor_answer;

/* coverage_print - devices that are alike share their lines; a blank line ends it. */
void coverage_print(FILE *out, const struct doctor_answer *doctor);
