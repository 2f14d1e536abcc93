/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract on dataplane.sock (SOCK_SEQPACKET, one message a datagram).  The data plane serves
 * one control plane at a time.
 *
 *   control plane                         data plane
 *   HELLO            ->
 *                    <-  WELCOME          (the flow memory's descriptor rides along, SCM_RIGHTS)
 *                    <-  SLOT, SLOT_TOTALS ...   welcome.n_slots pairs at once: every slot alive,
 *                                         with the share in force and all that it has counted
 *   BEGIN            ->                   a transaction holds ALL services; nothing is a delta
 *   SERVICE, MIRROR..->                   each service followed by its mirrors
 *   COMMIT           ->
 *                    <-  SLOT ...         slots new since, then
 *                    <-  APPLIED          in force in every worker from here on, or why not
 *                    <-  SLOT_TOTALS, WORKER_TOTALS, PORT_STATUS   whenever they changed, at most
 *                                         every 100 ms; within 10 ms of a row's first errors
 *   LIST_FLOWS, FIND_FLOW, RESET_FLOWS, CHECK_SLOT ->   questions, at any time after WELCOME
 *                    <-  FLOW, CHECKED ... the parts of an answer, then
 *                    <-  ANSWERED         nothing more comes to that question
 *   anything else    <-  REFUSED          a sentence, then the link is closed
 *
 * Sent upwards are cumulative totals since the instance began, never deltas: a message lost or
 * repeated does no harm.  A message has exactly the size of its struct; any other closes the link.
 * Both programs come from one build, hence versions are compared for equality.  Integers are in
 * host order unless named _be.  Structs have no implicit padding; 'pad' members are zero.
 */
#pragma once

#include <karmalb/counters.h>
#include <karmalb/endpoint.h>
#include <karmalb/histogram.h>
#include <karmalb/limits.h>

#define KARMALB_PROTOCOL_VERSION 2

/* M(MEMBER, number, struct); numbers below 16 go down, from 16 on up. */
#define KARMALB_MESSAGES(M)                                \
	M(HELLO, 1, struct karmalb_hello)                  \
	M(BEGIN, 2, struct karmalb_begin)                  \
	M(SERVICE, 3, struct karmalb_service)              \
	M(MIRROR, 4, struct karmalb_mirror)                \
	M(COMMIT, 5, struct karmalb_commit)                \
	M(LIST_FLOWS, 6, struct karmalb_list_flows)        \
	M(FIND_FLOW, 7, struct karmalb_find_flow)          \
	M(RESET_FLOWS, 8, struct karmalb_reset_flows)      \
	M(CHECK_SLOT, 9, struct karmalb_check_slot)        \
	M(WELCOME, 16, struct karmalb_welcome)             \
	M(APPLIED, 17, struct karmalb_applied)             \
	M(SLOT, 18, struct karmalb_slot)                   \
	M(SLOT_TOTALS, 19, struct karmalb_slot_totals)     \
	M(WORKER_TOTALS, 20, struct karmalb_worker_totals) \
	M(PORT_STATUS, 21, struct karmalb_port_status)     \
	M(REFUSED, 22, struct karmalb_refused)             \
	M(FLOW, 23, struct karmalb_flow)                   \
	M(CHECKED, 24, struct karmalb_checked)             \
	M(ANSWERED, 25, struct karmalb_answered)

enum karmalb_message {
#define M(member, number, type) KARMALB_MESSAGE_##member = number,
	KARMALB_MESSAGES(M)
#undef M
};

struct karmalb_header {
	uint16_t message; /* enum karmalb_message */
	uint16_t version; /* KARMALB_PROTOCOL_VERSION */
	uint32_t size;    /* bytes of the whole message, this header included */
};

struct karmalb_hello {
	struct karmalb_header header;
	uint64_t started_us; /* when this control plane started */
};

/* Opens a transaction; what an unfinished earlier one had brought is forgotten. */
struct karmalb_begin {
	struct karmalb_header header;
	uint32_t epoch;      /* greater than any epoch committed before (welcome.epoch) */
	uint32_t n_services; /* 0 .. KARMALB_SERVICES_MAX */
};

enum karmalb_selector {
	KARMALB_SELECTOR_WEIGHTED, /* a mirror with probability share / sum of shares */
	KARMALB_SELECTOR_ROTATE,   /* those with a share above 0 in their order, over all workers */
	KARMALB_N_SELECTORS,
};

/* How the head of an answer is read. */
enum karmalb_reply_check {
	KARMALB_REPLY_CHECK_NONE,
	KARMALB_REPLY_CHECK_HTTP,      /* status line */
	KARMALB_REPLY_CHECK_SPHINXAPI, /* status word */
	KARMALB_REPLY_CHECK_MYSQL,     /* ERR packet, warnings of an OK packet */
	KARMALB_N_REPLY_CHECKS,
};

/* One (VIP, port, protocol). */
struct karmalb_service {
	struct karmalb_header header;
	struct karmalb_endpoint listen;
	uint16_t service;            /* its number in this transaction, rising from 0 */
	uint16_t n_mirrors;          /* MIRROR messages that follow, 0 .. KARMALB_MIRRORS_MAX */
	uint32_t connect_timeout_ms; /* 1 .. 3,600,000 */
	uint32_t query_timeout_ms;   /* 1 .. 3,600,000 */
	uint32_t idle_timeout_ms;    /* established flow without a packet; 1,000 .. 604,800,000 */
	uint8_t selector;            /* enum karmalb_selector */
	uint8_t reply_check;         /* enum karmalb_reply_check */
	uint8_t is_one_way;          /* 1: UDP that nobody answers; no query is waited for */
	uint8_t pad;
	char name[KARMALB_NAME_MAX]; /* for sentences only */
};

struct karmalb_mirror {
	struct karmalb_header header;
	struct karmalb_endpoint address; /* protocol as the service's */
	uint16_t service;                /* number of the SERVICE it belongs to */
	uint16_t mirror;                 /* its number there, rising from 0 */
	double share;                    /* 0 .. 1, finite; 0: no new flow */
	char name[KARMALB_NAME_MAX];
};

struct karmalb_commit {
	struct karmalb_header header;
	uint32_t epoch; /* as in BEGIN */
	uint32_t pad;
};

/*
 * Questions.  'request' is whatever number the control plane gives it, and stands in each part of
 * the answer.  A set of slots is a bit each, slot s in slots[s / 64] at s % 64.
 */
#define KARMALB_SLOT_WORDS (KARMALB_SLOTS_MAX / 64)

/* Every question and every part of an answer begins so. */
struct karmalb_question {
	struct karmalb_header header;
	uint32_t request;
	uint32_t pad;
};

/* FLOW for each flow of these slots, in no order, 'limit' (1 .. KARMALB_FLOWS_LIMIT_MAX) at most.
 * Read beside the workers at work: one that begins or ends meanwhile may be missing. */
#define KARMALB_FLOWS_LIMIT_MAX 100000
struct karmalb_list_flows {
	struct karmalb_header header;
	uint32_t request;
	uint32_t limit;
	uint64_t slots[KARMALB_SLOT_WORDS];
};

/* FLOW for the one of that client to that service, if there is one. */
struct karmalb_find_flow {
	struct karmalb_header header;
	uint32_t request;
	struct karmalb_endpoint client;
	struct karmalb_endpoint listen;
	uint32_t pad;
};

/* Ends every flow of these slots that was there when it came: RST to both sides of a TCP flow. */
struct karmalb_reset_flows {
	struct karmalb_header header;
	uint32_t request;
	uint32_t pad;
	uint64_t slots[KARMALB_SLOT_WORDS];
};

/* CHECKED for one SYN to the mirror of that slot, from a source of ours, answered with RST. */
#define KARMALB_CHECK_TIMEOUT_MAX_MS 60000
struct karmalb_check_slot {
	struct karmalb_header header;
	uint32_t request;
	uint16_t slot;
	uint16_t pad;
	uint32_t timeout_ms; /* 1 .. KARMALB_CHECK_TIMEOUT_MAX_MS */
	uint32_t pad2;
};

struct karmalb_welcome {
	struct karmalb_header header;
	uint64_t instance;   /* random, new at each start: totals of two instances do not mix */
	uint64_t started_us; /* when this data plane started */
	uint32_t epoch;      /* in force; 0: none yet */
	uint16_t n_workers;
	uint16_t n_sources;
	uint64_t max_flows;     /* all workers together */
	uint64_t max_half_open; /* all workers together */
	uint32_t n_slots;       /* pairs of SLOT and SLOT_TOTALS that follow at once */
	uint16_t n_sources_v4;  /* of n_sources */
	uint16_t source_ports;  /* of each source towards each mirror, all workers together */
};

/* Answers COMMIT.  On failure the former snapshot stays in force, whole. */
struct karmalb_applied {
	struct karmalb_header header;
	uint32_t epoch;
	int32_t error;                       /* 0 or a negative errno */
	uint64_t applied_us;                 /* when the last worker had taken it */
	char sentence[KARMALB_SENTENCE_MAX]; /* for a person; empty when error is 0 and nothing is
						odd */
};

enum karmalb_next_hop_state {
	KARMALB_NEXT_HOP_UNKNOWN,  /* asked, no answer yet */
	KARMALB_NEXT_HOP_RESOLVED, /* MAC known, packets flow */
	KARMALB_NEXT_HOP_FAILED,   /* nobody answers, or no route */
};

/* Which number stands for which mirror of which service, until the instance ends or it is unused.
 */
struct karmalb_slot {
	struct karmalb_header header;
	struct karmalb_endpoint listen;
	struct karmalb_endpoint address;
	uint16_t slot;       /* 0 .. KARMALB_SLOTS_MAX - 1 */
	uint8_t next_hop;    /* enum karmalb_next_hop_state */
	uint8_t is_selected; /* 1: part of the snapshot in force; 0: only old flows refer to it */
	uint32_t epoch;      /* the snapshot that 'share' comes from */
	double share;        /* in force, 0 .. 1 */
};

struct karmalb_latency {
	uint64_t count;
	uint64_t sum_us;
	uint64_t max_us; /* since the instance began */
	uint64_t histogram[KARMALB_HISTOGRAM_BUCKETS];
};

struct karmalb_slot_totals {
	struct karmalb_header header;
	uint16_t slot;
	uint8_t last_error; /* enum karmalb_outcome of the newest failure, if any */
	uint8_t pad;
	uint32_t errors_in_row; /* failures since the last success, in order of observation */
	uint64_t stamp_us;      /* everything observed before this moment is in */
	uint64_t row_began_us;  /* first failure of the present row; 0: none */
	uint64_t last_error_us; /* 0: none yet */
	uint64_t last_success_us;
	uint64_t outcomes[KARMALB_N_OUTCOMES];
	uint64_t opened;    /* flows picked for it */
	uint64_t closed;    /* of these, ended */
	uint64_t n_records; /* now: flow records, resting ones included; each takes a source port */
	uint64_t to_mirror_packets, to_mirror_bytes;
	uint64_t to_client_packets, to_client_bytes;
	uint64_t n_waiting;             /* now: queries without answer */
	uint64_t waiting_age_us;        /* now: sum of their ages */
	struct karmalb_latency connect; /* SYN to SYN-ACK, only where the SYN was not repeated */
	struct karmalb_latency query;   /* first byte of a query to first byte of its answer */
};

struct karmalb_worker_totals {
	struct karmalb_header header;
	uint16_t worker;
	uint16_t pad[3];
	uint64_t busy_us;      /* time spent with packets in hand */
	uint64_t n_flows;      /* now: records in use, resting ones included */
	uint64_t n_half_open;  /* now: TCP flows that are not established yet */
	uint64_t n_unanswered; /* now: UDP flows that the mirror has not answered yet */
	uint64_t counters[KARMALB_N_COUNTERS];
};

struct karmalb_port_status {
	struct karmalb_header header;
	char name[KARMALB_NAME_MAX];
	char device[KARMALB_DEVICE_MAX];
	uint16_t port;
	uint8_t is_up;
	uint8_t is_zero_copy;
	uint32_t mtu;
	uint64_t link_losses; /* times that it went from up to down */
	uint64_t guard_drops; /* packets of ours that slipped past XDP and were kept from the kernel
			       */
	uint64_t rx_missed;   /* lost by the device before a worker saw them */
	uint64_t steered, passed;      /* XDP: to us, to the kernel */
	uint64_t rx_packets, rx_bytes; /* between device and workers, as the device counts them */
	uint64_t tx_packets, tx_bytes;
};

struct karmalb_refused {
	struct karmalb_header header;
	char sentence[KARMALB_SENTENCE_MAX];
};

enum karmalb_flow_state {
	KARMALB_FLOW_SYN_SENT,
	KARMALB_FLOW_SYN_ACKED, /* SYN-ACK forwarded, not acknowledged yet */
	KARMALB_FLOW_ESTABLISHED,
	KARMALB_FLOW_CLOSING, /* a FIN was seen */
	KARMALB_FLOW_RESTING, /* over; keeps its source port for a while */
	KARMALB_FLOW_DATAGRAM,
	KARMALB_N_FLOW_STATES,
};

struct karmalb_flow {
	struct karmalb_header header;
	uint32_t request;
	uint32_t epoch; /* of the shares that the mirror was drawn at */
	struct karmalb_endpoint client;
	struct karmalb_endpoint listen;
	struct karmalb_endpoint source; /* ours, towards the mirror */
	struct karmalb_endpoint address;
	uint16_t slot;
	uint16_t worker;
	uint8_t state;      /* enum karmalb_flow_state */
	uint8_t is_waiting; /* 1: a query has no answer yet */
	uint8_t pad[2];
	uint64_t opened_us;  /* to a millisecond */
	uint64_t expires_us; /* unless something comes; 0: half-open */
};

enum karmalb_check_result {
	KARMALB_CHECK_OPEN,        /* SYN-ACK */
	KARMALB_CHECK_REFUSED,     /* RST */
	KARMALB_CHECK_SILENT,      /* nothing within timeout_ms */
	KARMALB_CHECK_UNREACHABLE, /* an ICMP error */
	KARMALB_CHECK_NO_NEXT_HOP,
	KARMALB_CHECK_NO_PORT,  /* no source port free */
	KARMALB_CHECK_NOT_SENT, /* no record, no buffer, or the device took none */
	KARMALB_N_CHECK_RESULTS,
};

struct karmalb_checked {
	struct karmalb_header header;
	uint32_t request;
	uint16_t slot;
	uint8_t result; /* enum karmalb_check_result */
	uint8_t pad;
	struct karmalb_endpoint source; /* that the SYN came from; zeroed: none was sent */
	uint32_t took_us;               /* SYN to answer; 0: none came */
};

/* Ends the answer to a question. */
struct karmalb_answered {
	struct karmalb_header header;
	uint32_t request;
	int32_t error; /* 0 or a negative errno: -EBUSY too many questions, -ENOENT no such slot */
	uint64_t n;    /* flows that were sent, found, or ended */
};

/* The largest message, for receive buffers. */
#define KARMALB_MESSAGE_SIZE_MAX sizeof(struct karmalb_slot_totals)

#define M(member, number, type) \
	static_assert(sizeof(type) % 8 == 0 && sizeof(type) <= KARMALB_MESSAGE_SIZE_MAX, #type);
KARMALB_MESSAGES(M)
#undef M
static_assert(sizeof(struct karmalb_header) == 8, "wire");
static_assert(sizeof(struct karmalb_service) == 8 + 20 + 4 + 12 + 4 + 64, "wire");

/* The size that a message of this number must have, or 0 for a number that does not exist. */
static inline uint32_t
karmalb_message_size(uint16_t message)
{
	switch (message) {
#define M(member, number, type)        \
	case KARMALB_MESSAGE_##member: \
		return sizeof(type);
		KARMALB_MESSAGES(M)
#undef M
	}
	return 0;
}
