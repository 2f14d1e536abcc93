/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a mirror has the share it has, in one sentence for a person.  Pure. */
#pragma once

#include <stddef.h>

#include "model.h"

/* Fills 'text' (KARMALB_SENTENCE_MAX is enough); returns it. */
char *
why_share(const struct model_service *service, const struct model_mirror *mirror, char *text,
	size_t size);
