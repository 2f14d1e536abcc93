/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The snapshot: everything from the control side that a worker reads, immutable once published and
 * replaced whole.  tables_* run on the control thread only; workers read through const pointers
 * between two quiescent states.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#define TABLES_SLOT_NONE UINT16_MAX

/* One mirror slot as a worker needs it: one cache line.  Stays while flows refer to the slot. */
struct table_slot {
	struct karmalb_endpoint listen;  /* zeroed: slot free */
	struct karmalb_endpoint address; /* the mirror */
	uint8_t next_hop_mac[6];
	uint8_t next_hop_port; /* index into tables.ports */
	bool has_next_hop;
	uint32_t connect_timeout_ms;
	uint32_t query_timeout_ms;
	uint32_t idle_timeout_ms;
	uint8_t reply_check; /* enum karmalb_reply_check */
	bool is_one_way;     /* nobody waits for answers */
	bool is_selected;    /* gets new flows; tables_build() says so */
	uint8_t pad;
};
static_assert(sizeof(struct table_slot) == 64, "one cache line");

/* Vose's alias method: column c is drawn uniformly, then own slot if a draw is below the threshold.
 */
struct table_alias {
	uint32_t threshold; /* keep 'slot' if a 32-bit draw is < threshold or threshold is
			       UINT32_MAX */
	uint16_t slot;
	uint16_t alias; /* slot taken otherwise */
};

struct table_service {
	struct karmalb_endpoint listen;
	uint32_t first_column; /* into tables.columns */
	uint32_t n_columns;    /* 0: no eligible mirror */
	uint8_t selector;      /* enum karmalb_selector */
	uint8_t pad;
	uint16_t turn; /* which of flow_header.turns counts its rotation: its first mirror's slot */
};

/* Of the default route out of a port. */
struct table_gateway {
	uint8_t mac[6];
	bool is_known;
};

struct table_port {
	uint8_t mac[6];
	bool is_up;
	bool is_partial_checksum; /* received L4 checksums may hold the pseudo-header sum only */
	bool is_reply_by_route;   /* replies leave by a gateway, not by the client's own MAC */
	struct table_gateway gateways[2]; /* IPv4's, IPv6's */
	uint16_t mtu;                     /* largest IP packet that may leave here; 0: any */
};

#define TABLES_SERVICE_BUCKETS (2 * KARMALB_SERVICES_MAX) /* power of two, at most half full */
#define TABLES_SOURCE_BUCKETS  (2 * KARMALB_SOURCES_MAX)

/* Owned by the control thread from tables_build() to tables_free(). */
struct tables {
	uint32_t epoch;
	uint16_t n_services;
	uint16_t n_sources;
	uint16_t n_slots; /* highest slot in use + 1 */
	uint16_t n_ports;
	struct karmalb_address sources[KARMALB_SOURCES_MAX];
	struct table_port ports[KARMALB_PORTS_MAX];
	struct table_service services[KARMALB_SERVICES_MAX];
	uint16_t service_index[TABLES_SERVICE_BUCKETS]; /* open addressing; UINT16_MAX: empty */
	uint16_t source_index[TABLES_SOURCE_BUCKETS];
	uint16_t listen_index[TABLES_SERVICE_BUCKETS]; /* services by address alone, one for each */
	struct table_alias *columns; /* all services' alias tables, one after the other */
	struct table_slot *slots;    /* n_slots of them, aligned to a cache line */
};

struct intent;
struct err;

/* What a snapshot is made of; nothing of it is kept. */
struct tables_parts {
	const struct intent *intent;    /* NULL: no service yet */
	const uint16_t *mirror_slots;   /* slot of intent->mirrors[i] */
	const struct table_slot *slots; /* by slot number, next hops filled in */
	unsigned n_slots;               /* highest slot in use + 1 */
	const struct table_port *ports;
	unsigned n_ports;
	const struct karmalb_address *sources;
	unsigned n_sources;
};

/*
 * Builds a snapshot.  A mirror gets new flows if its share is above 0, its next hop is known and
 * the port towards it is up; the shares of the others make up for it.  NULL with a sentence when
 * out of memory.  The caller checked the intent (intent_check()).
 */
struct tables *
tables_build(const struct tables_parts *parts, struct err *err);

/* NULL is fine.  No worker may still read 't' (see snapshot.h). */
void
tables_free(struct tables *t);
