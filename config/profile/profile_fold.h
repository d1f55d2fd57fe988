/* profile_fold - what becomes of several rows or leaves that speak of one metric of one thing, such
 * as the lanes of a transceiver. */
#ifndef RW_CONFIG_PROFILE_FOLD_H
#define RW_CONFIG_PROFILE_FOLD_H

enum profile_fold { FOLD_SUM, FOLD_MIN, FOLD_MAX };

#endif
