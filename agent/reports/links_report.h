/*
 * links_report - the arrays of `report links`, from what links_range read. Pure.
 *
 *   {source, step_s, coverage_ratio, limits: {errors_per_s},
 *    ports: [{device, port, peer, state: "up|down|unknown", up_ratio, flaps, speed_bps, class_bps,
 *        mtu_bytes, in_errors, out_errors, errors_per_s, worst_errors_per_s, fcs_errors,
 *        symbol_errors, fec_corrected, fec_uncorrectable, pre_fec_ber, rx_power_dbm,
 *        rx_power_least_dbm, tx_power_dbm, temperature_c, words: [text]}],
 *                                    those of which there is something to say, worst first
 *    ports_known: {all, linked, state, errors, flaps, fec, optics, speed},   how many are known
 *    changes: [{time, device, port, text, by}],
 *    chart: {step_s, times, series: [{name, values}]}}
 */
#ifndef RW_REPORTS_LINKS_REPORT_H
#define RW_REPORTS_LINKS_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/reports/links_range.h"

struct config;

/* links_report_put - adds the arrays, figures, missing data and the problems of ports to @doc. */
void links_report_put(json_t *doc, const struct links_range *range, const struct config *config,
	double errors_per_s);

/* links_is_told - is there a problem of this cause about @subject, a port as "leaf1:Ethernet2"? An
 * incident's problem names the host before it. */
bool links_is_told(const json_t *doc, const char *cause, const char *subject);

#endif
