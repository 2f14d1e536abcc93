/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes as it goes; nothing is kept. */
#include "exposition.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "units.h"

#define PREFIX "karmalb_"

void
exposition_head(FILE *out, const char *name, enum metric_type type, const char *help)
{
	static const char *const words[] = {"counter", "gauge", "histogram"};

	fprintf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name,
		words[type]);
}

void
exposition_label(char labels[EXPOSITION_LABELS_MAX], const char *name, const char *value)
{
	size_t n = strlen(labels);

	n += (size_t)snprintf(labels + n, EXPOSITION_LABELS_MAX - n, "%s%s=\"",
		labels[0] != '\0' ? "," : "", name);
	for (; *value != '\0' && n < EXPOSITION_LABELS_MAX - 4; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			labels[n++] = '\\';
		labels[n++] = *value == '\n' ? 'n' : *value;
	}
	strcpy(labels + n, "\"");
}

void
exposition_sample(FILE *out, const char *name, const char *labels, double value)
{
	char text[UNITS_TEXT_MAX];

	if (isnan(value))
		return;
	/* Most values are counts, and a scrape of many mirrors must not hold up the loop. */
	if (value >= 0 && value < 1e15 && value == floor(value))
		snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)value);
	else
		units_format_number(value, text, sizeof(text));
	fputs(PREFIX, out);
	fputs(name, out);
	if (labels[0] != '\0')
		fprintf(out, "{%s}", labels);
	fprintf(out, " %s\n", text);
}
