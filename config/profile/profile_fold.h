/* profile_fold - how several rows or leaves of one metric of one thing become one value, such as
 * the lanes of a transceiver. */
#ifndef RW_CONFIG_PROFILE_FOLD_H
#define RW_CONFIG_PROFILE_FOLD_H

enum profile_fold { FOLD_SUM, FOLD_MIN, FOLD_MAX };

#endif
