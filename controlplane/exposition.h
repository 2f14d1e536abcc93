/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prometheus' text format: a family is a head, then a sample per thing.  All names get the prefix
 * "karmalb_".  Knows no metric.  Pure.
 */
#pragma once

#include <stdio.h>

enum metric_type {
	COUNTER, /* its name ends in _total */
	GAUGE,
	HISTOGRAM,
};

/* HELP and TYPE. */
void
exposition_head(FILE *out, const char *name, enum metric_type type, const char *help);

/* Room for labels whose values are names, each byte of which may need an escape. */
#define EXPOSITION_LABELS_MAX 600

/* Appends name="value" with the three escapes of the format; what does not fit is cut. */
void
exposition_label(char labels[EXPOSITION_LABELS_MAX], const char *name, const char *value);

/* One sample; 'labels' is empty or as exposition_label() made it.  Nothing for a NaN. */
void
exposition_sample(FILE *out, const char *name, const char *labels, double value);
