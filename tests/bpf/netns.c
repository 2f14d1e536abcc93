/* SPDX-License-Identifier: BSD-3-Clause */
/* The other side is a child that does nothing but keep a namespace alive. */
#include "netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

static pid_t other_side;

static pid_t
start_other_side(void)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) != 0 || write(ready[1], "1", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static int
shell(const char *prefix, const char *fmt, va_list args)
{
	char command[512];
	int size = snprintf(command, sizeof(command), "%s", prefix);

	vsnprintf(command + size, sizeof(command) - (size_t)size, fmt, args);
	int status = system(command);

	if (status != 0)
		fprintf(stderr, "failed: %s\n", command);
	return status;
}

void
here(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int status = shell("", fmt, args);

	va_end(args);
	ck_assert_int_eq(status, 0);
}

void
there(const char *fmt, ...)
{
	char prefix[64];
	va_list args;

	snprintf(prefix, sizeof(prefix), "nsenter -t %d -n ", (int)other_side);
	va_start(args, fmt);
	int status = shell(prefix, fmt, args);

	va_end(args);
	ck_assert_int_eq(status, 0);
}

void
netns_enter(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	other_side = start_other_side();
	here("ip link add eth1 numrxqueues 1 numtxqueues 1 type veth peer name eth1 numrxqueues 1 "
	     "numtxqueues 1 netns %d",
		(int)other_side);
	here("ip link set lo up && ip link set eth1 up && ip addr add " NETNS_HERE "/24 dev eth1");
	there("sh -c 'ip link set lo up && ip link set eth1 up && ip addr add " NETNS_THERE
	      "/24 dev eth1'");
}

unsigned
netns_ifindex(void)
{
	return if_nametoindex("eth1");
}

void
netns_peer_mac(uint8_t mac[6])
{
	char command[64], line[32] = "";

	/* Not from /sys: nsenter keeps ours. */
	snprintf(command, sizeof(command), "nsenter -t %d -n ip -br link show eth1",
		(int)other_side);
	FILE *pipe = popen(command, "r");

	ck_assert_ptr_nonnull(pipe);
	ck_assert_int_eq(fscanf(pipe, "%*s %*s %31s", line), 1);
	pclose(pipe);
	ck_assert_int_eq(sscanf(line, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2],
				 &mac[3], &mac[4], &mac[5]),
		6);
}

bool
here_says(const char *command, const char *text)
{
	static char output[65536];
	FILE *pipe = popen(command, "r");

	ck_assert_ptr_nonnull(pipe);
	size_t size = fread(output, 1, sizeof(output) - 1, pipe);

	output[size] = '\0';
	pclose(pipe);
	return strstr(output, text) != NULL;
}

static enum answer
try_connect(const char *address, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = inet_addr(address)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	socklen_t size = sizeof(error);

	connect(fd, (struct sockaddr *)&to, sizeof(to));
	if (poll(&ready, 1, 300) == 0)
		return SILENCE;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error == 0 ? ACCEPTED : error == ECONNREFUSED ? REFUSED : SILENCE;
}

enum answer
connect_from_there(const char *address, uint16_t port)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)other_side);
		if (setns(open(path, O_RDONLY), CLONE_NEWNET) != 0)
			_exit(99);
		_exit(try_connect(address, port));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 99);
	return WEXITSTATUS(status);
}

bool
wait_until(bool (*condition)(void *context), void *context)
{
	for (unsigned i = 0; i < 500; i++) {
		if (condition(context))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return false;
}
