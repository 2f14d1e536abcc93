/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds that both programs must agree on.  Changing one changes the protocol version. */
#pragma once

#define KARMALB_NAME_MAX       64   /* bytes of a name, its terminating NUL included */
#define KARMALB_SENTENCE_MAX   240  /* bytes of a sentence for a person, NUL included */
#define KARMALB_SERVICES_MAX   256  /* (VIP, port, protocol) triples in one snapshot */
#define KARMALB_MIRRORS_MAX    128  /* mirrors of one service */
#define KARMALB_SLOTS_MAX      4096 /* mirror identities alive at a time, all services together */
#define KARMALB_SOURCES_MAX    256  /* our own addresses towards the mirrors */
#define KARMALB_WORKERS_MAX    64
#define KARMALB_PORTS_MAX      16
#define KARMALB_DEVICE_MAX     256 /* bytes of a device string, NUL included */
#define KARMALB_NEIGHBOURS_MAX 256
