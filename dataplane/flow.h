/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow memory and one worker's flow table.
 *
 * All workers' tables lie in one region (see flow_memory.h) that outlives the process: it holds
 * indices, never pointers, and stamps of CLOCK_MONOTONIC.  A flow costs one record of 64 bytes and
 * two entries of its table, one for each direction, found by the packet's addresses and ports:
 * bucket (one cache line of signatures and record numbers), then record.  The full key is always
 * verified, against the record and its slot.
 *
 * A table belongs to its worker's thread.  The control thread may read slot uses and counts
 * (relaxed) and copy records (flow_copy).  Pure: no clock, no I/O, works on memory given to it.
 */
#pragma once

#include <assert.h>
#include <emmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

#include "flow_key.h"
#include "slot.h"
#include "tables.h"

#define FLOW_MAGIC          UINT64_C(0x776f6c66626c6d6b) /* "kmlbflow" */
#define FLOW_LAYOUT_VERSION 3
#define FLOW_NONE           UINT32_MAX
#define FLOW_BUCKET_WAYS    10
#define FLOW_PORT_FIRST     1024 /* source ports we use: this one up to 65535 */
#define FLOW_PORTS          64512
#define FLOW_MAX            (UINT32_C(1) << 30) /* records of one worker */

/* Where a flow stands.  Values are part of the layout. */
enum flow_state {
	FLOW_FREE,
	FLOW_SYN_SENT,  /* SYN forwarded; half-open */
	FLOW_SYN_ACKED, /* SYN-ACK forwarded, client's ACK not yet seen; half-open */
	FLOW_ESTABLISHED,
	FLOW_CLOSING,       /* at least one FIN seen, not all of them acknowledged */
	FLOW_RESTING,       /* over; keeps our (source, port, mirror) from being used again */
	FLOW_DATAGRAM,      /* UDP, until nothing came for a while */
	FLOW_DATAGRAM_SENT, /* the same as long as the mirror has sent none; in n_unanswered */
	FLOW_PROBE,         /* no client's: our own SYN, see probe.h */
};

/* What the exchange on a flow waits for; see latency.h. */
enum flow_exchange {
	FLOW_EXCHANGE_IDLE,   /* no payload yet */
	FLOW_EXCHANGE_WAIT,   /* client asked, mirror has not answered; counted in n_waiting */
	FLOW_EXCHANGE_ANSWER, /* mirror sent payload since the last query */
	FLOW_EXCHANGE_LATE,   /* as WAIT, but its time-out was counted */
	FLOW_EXCHANGE_LEFT,   /* as WAIT, but the client closed its side: may still be answered */
};

enum flow_flag {
	FLOW_FLAG_SYN_REPEATED = 1 << 0, /* as long as it is half-open */
	FLOW_FLAG_INTERIM =
		1 << 0, /* from then on: what came so far is before the answer, reply.h */
	FLOW_FLAG_CLIENT_FIN = 1 << 1,
	FLOW_FLAG_MIRROR_FIN = 1 << 2,
	FLOW_FLAG_CLIENT_FIN_ACKED = 1 << 3,
	FLOW_FLAG_MIRROR_FIN_ACKED = 1 << 4,
	FLOW_FLAG_MIRROR_FIRST = 1 << 5,    /* the mirror's FIN came first: it holds TIME-WAIT */
	FLOW_FLAG_CLIENT_UNLINKED = 1 << 6, /* client's entry is gone or another flow's */
	FLOW_FLAG_HANDSHAKE = 1 << 7, /* what waits is a greeting or login, no query, see reply.h */
};

/* One flow.  Written by the owning worker only, between flow_change() and flow_changed(). */
struct flow {
	struct karmalb_address client;
	uint16_t client_port_be;
	uint16_t source_port_be;
	uint16_t slot;
	uint8_t source;         /* index into tables.sources */
	uint8_t state;          /* enum flow_state */
	uint8_t client_mac[6];  /* where its packets last came from */
	uint8_t client_port_in; /* and through which of tables.ports */
	uint8_t flags;          /* enum flow_flag */
	uint32_t began_us;      /* low 32 bits: SYN while half-open, then the present query */
	union {
		uint32_t client_end; /* sequence number after the last byte of the client seen */
		uint32_t next_free;  /* FLOW_FREE */
	};
	uint32_t mirror_end; /* the same for the mirror; FLOW_SYN_SENT: after the SYN's payload */
	union {
		uint32_t expires_ms; /* low 32 bits */
		uint32_t half_open;  /* half-open: its entry there, which holds the deadline */
	};
	uint32_t epoch; /* of the snapshot under which the mirror was picked */
	union {
		uint32_t other_end; /* FLOW_SYN_ACKED: mirror_end by another SYN-ACK, or the same */
		uint32_t seq_delta; /* reserved: shift of our sequence numbers towards the mirror */
	};
	uint32_t opened_ms; /* low 32 bits */
	uint16_t sequence;  /* odd while being written */
	uint8_t exchange;   /* enum flow_exchange */
	uint8_t vlan;       /* of the client's packets: index into flow_worker.vlans; 0: no tag */
};
static_assert(sizeof(struct flow) == 64, "one cache line");
static_assert(KARMALB_SOURCES_MAX <= 256, "flow.source");

/* The way in: signatures of keys, and for each the record with the side in its lowest bit. */
struct flow_bucket {
	uint16_t signatures[FLOW_BUCKET_WAYS]; /* 0: empty */
	uint16_t pad[2];
	uint32_t entries[FLOW_BUCKET_WAYS];
};
static_assert(sizeof(struct flow_bucket) == 64, "one cache line");

#define FLOW_VLANS 256

/* The VLAN tags that clients' packets come with, as they stand in a frame; priorities are 0. */
struct flow_vlan {
	uint8_t tags[8];
	uint8_t size; /* 4 or 8 */
	uint8_t pad[3];
	uint32_t n_uses; /* records that hold it; 0: free, whatever it says */
};
static_assert(sizeof(struct flow_vlan) == 16, "shared memory layout");

/* One worker's part that is not an array.  The worker writes, control reads (relaxed). */
struct flow_worker {
	uint32_t n_flows; /* records in use, resting ones included */
	uint32_t n_half_open;
	uint32_t n_touched;  /* records ever used: [0, n_touched) */
	uint32_t first_free; /* of the chain of given back records, or FLOW_NONE */
	uint32_t sweep_at;   /* next record to be looked at by the sweep */
	uint32_t half_open_free;
	uint32_t wheel_ms; /* half-open deadlines up to here are done */
	uint32_t n_vlans;  /* the highest number ever used */
	uint64_t swept_us; /* when the sweep last moved */
	uint64_t reserved[2];
	uint32_t reclaim_at;   /* next record to be looked at for making room */
	uint32_t n_unanswered; /* flows in FLOW_DATAGRAM_SENT; at most max_half_open */
	uint32_t slot_uses[KARMALB_SLOTS_MAX]; /* records that hold this slot */
	struct flow_vlan vlans[FLOW_VLANS];    /* [0] stands for no tag */
};

/* Begins the region.  Control writes it once, at creation. */
struct flow_header {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t n_workers;
	uint64_t generation;    /* counts the data planes that used it, this one included */
	uint64_t size;          /* of the whole region */
	uint64_t hash_key[4];   /* secret */
	uint32_t max_flows;     /* of each worker */
	uint32_t max_half_open; /* of each worker */
	uint32_t n_buckets;     /* of each worker */
	uint32_t n_sources;
	uint64_t worker_offset; /* first worker's part; the others follow */
	uint64_t worker_size;
	struct karmalb_address sources[KARMALB_SOURCES_MAX]; /* what flow.source means */
	struct slot slots[KARMALB_SLOTS_MAX];
	/*
	 * Turns taken by services that rotate, by table_service.turn.  The one thing here that all
	 * workers write, atomically, once for a new flow.
	 */
	uint64_t turns[KARMALB_SLOTS_MAX];
};

struct flow_conf {
	uint32_t n_workers;     /* 1 .. KARMALB_WORKERS_MAX */
	uint64_t max_flows;     /* all workers together */
	uint64_t max_half_open; /* all workers together; at most max_flows */
	const struct karmalb_address *sources;
	uint32_t n_sources;   /* 1 .. KARMALB_SOURCES_MAX */
	uint64_t hash_key[4]; /* random */
};

struct half_open;

/* A worker's view of its part; process memory, hence pointers.  Nothing in it is owned. */
struct flow_table {
	struct flow_header *header;
	struct flow_worker *worker;
	struct flow_bucket *buckets;
	struct flow *records;
	struct half_open *half_opens;
	uint32_t *wheel;
	uint16_t *cursors; /* next source port, [source][slot] */
	uint64_t hash_key[4];
	uint32_t n_buckets;
	uint32_t max_flows;
	uint32_t max_half_open;
	uint16_t number; /* of the worker */
	uint16_t n_workers;
	uint16_t first_port; /* this worker's slice of source ports */
	uint16_t n_ports;
};

/* Bytes that the region needs, or 0 when 'conf' is out of bounds. */
size_t
flow_region_size(const struct flow_conf *conf);

/* Lays out 'region': flow_region_size() zeroed bytes, aligned to 64. */
struct flow_header *
flow_region_init(void *region, const struct flow_conf *conf);

/* Fills 'table' with worker number 'worker's part of a region that flow_region_init() laid out. */
void
flow_table_open(struct flow_table *table, struct flow_header *header, unsigned worker);

/* Records of all workers that hold 'slot', resting ones included.  Any thread; may lag. */
uint64_t
flow_slot_uses(const struct flow_header *header, unsigned slot);

/*
 * Copies a record that a worker may be writing.  Any thread; three tries at most.  Returns false
 * when the worker was always faster: skip it.
 */
bool
flow_copy(const struct flow *flow, struct flow *copy);

/*
 * From here on: the owning worker only.  Records are named by their number, entries by
 * flow_entry(), hashes are flow_hash() of the side's key.
 */

enum flow_side {
	FLOW_CLIENT, /* packets from the client to the service */
	FLOW_MIRROR, /* packets from the mirror to our source address */
};

static inline uint32_t
flow_entry(uint32_t record, enum flow_side side)
{
	return record << 1 | side;
}

static inline uint32_t
flow_entry_record(uint32_t entry)
{
	return entry >> 1;
}

static inline enum flow_side
flow_entry_side(uint32_t entry)
{
	return (enum flow_side)(entry & 1);
}

static inline bool
flow_is_half_open(const struct flow *flow)
{
	return flow->state == FLOW_SYN_SENT || flow->state == FLOW_SYN_ACKED;
}

static inline bool
flow_is_datagram(const struct flow *flow)
{
	return flow->state == FLOW_DATAGRAM || flow->state == FLOW_DATAGRAM_SENT;
}

/* Milliseconds since it was opened, for 49 days; 'now_ms' was read after that. */
static inline uint32_t
flow_age_ms(const struct flow *flow, uint32_t now_ms)
{
	return now_ms - flow->opened_ms;
}

/* Brackets every change of a record, for flow_copy(). */
static inline void
flow_change(struct flow *flow)
{
	__atomic_store_n(&flow->sequence, flow->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void
flow_changed(struct flow *flow)
{
	__atomic_store_n(&flow->sequence, flow->sequence + 1, __ATOMIC_RELEASE);
}

/* The entry that 'key' is found under, fully verified, or FLOW_NONE. */
uint32_t
flow_find(const struct flow_table *table, const struct tables *tables, const struct flow_key *key,
	uint64_t hash);

/* A record that nobody uses, all zero but for its sequence, holding 'slot'; or FLOW_NONE. */
uint32_t
flow_take(struct flow_table *table, uint16_t slot);

/* Lets a record hold another of flow_worker.vlans.  The caller brackets with flow_change(). */
static inline void
flow_hold_vlan(struct flow_table *table, struct flow *flow, uint8_t vlan)
{
	struct flow_vlan *vlans = table->worker->vlans;

	if (flow->vlan != 0)
		vlans[flow->vlan].n_uses--;
	if (vlan != 0)
		vlans[vlan].n_uses++;
	flow->vlan = vlan;
}

/* Gives a record back.  Its entries have been unlinked. */
void
flow_give(struct flow_table *table, uint32_t record);

/* Makes 'entry' found under 'hash'.  Returns false when both of its buckets are full. */
bool
flow_link(struct flow_table *table, uint64_t hash, uint32_t entry);

/* Undoes flow_link(); returns false when there was no such entry. */
bool
flow_unlink(struct flow_table *table, uint64_t hash, uint32_t entry);

/* Lets the place of 'entry' lead to 'successor' of the same key; false when there was none. */
bool
flow_relink(struct flow_table *table, uint64_t hash, uint32_t entry, uint32_t successor);

/* The key of the packets that one side sends. */
struct flow_key
flow_key_of(const struct flow *flow, const struct tables *tables, enum flow_side side);

/* Unlinks whatever is still linked of a record and gives it back. */
void
flow_remove(struct flow_table *table, const struct tables *tables, uint32_t record);

/*
 * The stages of flow_find(), for those who prefetch between them.  A bucket's match is a mask of
 * ways whose signature is that of 'hash'; false ones are rare (1 in 6,500), so the first is tried
 * and flow_find() decides when it was not it.
 */
static inline struct flow_bucket *
flow_bucket_first(const struct flow_table *table, uint64_t hash)
{
	return &table->buckets[((uint64_t)(uint32_t)hash * table->n_buckets) >> 32];
}

static inline struct flow_bucket *
flow_bucket_second(const struct flow_table *table, uint64_t hash)
{
	return &table->buckets[((hash >> 32) * table->n_buckets) >> 32];
}

/* Never 0, which marks an empty way.  Of bits that the buckets' choice hardly depends on. */
static inline uint16_t
flow_signature(uint64_t hash)
{
	uint16_t signature = (uint16_t)(hash ^ hash >> 32);

	return signature != 0 ? signature : 1;
}

static inline unsigned
flow_bucket_match(const struct flow_bucket *bucket, uint16_t signature)
{
	__m128i wanted = _mm_set1_epi16((short)signature);
	/* Ways 0 to 7, and 2 to 9. */
	__m128i low = _mm_loadu_si128((const __m128i *)&bucket->signatures[0]);
	__m128i high = _mm_loadu_si128((const __m128i *)&bucket->signatures[2]);
	unsigned mask = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_cmpeq_epi16(low, wanted), _mm_cmpeq_epi16(high, wanted)));

	return (mask & 0xff) | (mask >> 6 & 0x300);
}

/* Whether 'key' is that of the packets which 'entry's side sends. */
static inline bool
flow_entry_matches(const struct flow_table *table, const struct tables *tables, uint32_t entry,
	const struct flow_key *key)
{
	const struct flow *flow = &table->records[flow_entry_record(entry)];

	if (flow->state == FLOW_FREE)
		return false;
	const struct table_slot *slot = &tables->slots[flow->slot];

	if (flow_entry_side(entry) == FLOW_CLIENT)
		return flow->client_port_be == key->source_port_be &&
		       slot->listen.port_be == key->destination_port_be &&
		       slot->listen.protocol == key->protocol &&
		       !(flow->flags & FLOW_FLAG_CLIENT_UNLINKED) &&
		       karmalb_address_equal(&flow->client, &key->source) &&
		       karmalb_address_equal(&slot->listen.address, &key->destination);
	return flow->source_port_be == key->destination_port_be &&
	       slot->address.port_be == key->source_port_be &&
	       slot->address.protocol == key->protocol &&
	       karmalb_address_equal(&slot->address.address, &key->source) &&
	       karmalb_address_equal(&tables->sources[flow->source], &key->destination);
}
