/* profile_fold - how several rows or leaves of one metric of one thing become one value, such as
 * the lanes of a transceiver. */
#pragma once

enum profile_fold { FOLD_SUM, FOLD_MIN, FOLD_MAX };
