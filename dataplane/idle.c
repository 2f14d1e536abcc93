/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's sleep; the only place where it makes syscalls of its own. */
#include "idle.h"

#include <assert.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <karmalb/clock.h>

#include "doorbell.h"

static struct timespec
timespec_of(uint64_t us)
{
	return (struct timespec){
		.tv_sec = (time_t)(us / KARMALB_SECOND),
		.tv_nsec = (long)(us % KARMALB_SECOND * 1000),
	};
}

void
idle_init(struct idle *idle, struct doorbell *bell, uint32_t spin_us, bool is_spinning)
{
	*idle = (struct idle){
		.bell = bell,
		.fds[0] = {.fd = bell->fd, .events = POLLIN},
		.n_fds = 1,
		.is_spinning = is_spinning,
		.spin_us = spin_us,
	};
	/* A waking is to be as late as asked for, not by the default's 50 us more. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	/* This thread's alone.  Where it may not, it waits its turn like everybody. */
	if (!is_spinning)
		setpriority(PRIO_PROCESS, 0, IDLE_NICE);
}

void
idle_watch(struct idle *idle, int fd)
{
	if (fd < 0) {
		idle->is_napping = true;
		return;
	}
	assert(idle->n_fds < sizeof(idle->fds) / sizeof(idle->fds[0]));
	idle->fds[idle->n_fds++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

void
idle_block(struct idle *idle, uint64_t now_us, uint64_t until_us)
{
	if (until_us <= now_us)
		return;
	if (idle->is_napping && until_us - now_us > IDLE_NAP_US)
		until_us = now_us + IDLE_NAP_US;

	struct timespec left = timespec_of(until_us - now_us);

	/* An interrupted or failed wait is a short one; the next turn sees to everything. */
	ppoll(idle->fds, idle->n_fds, &left, NULL);
}
