/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends data planes.  Whatever fails here ends the test program: nothing could follow. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 20000
#define STEP_MS  20

static void
give_up(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static void
wait_a_step(void)
{
	nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
}

void
process_prepare(struct process *p)
{
	*p = (struct process){.run_dir = "/tmp/karmalb-wire-XXXXXX"};
	if (mkdtemp(p->run_dir) == NULL)
		give_up("mkdtemp");
	snprintf(p->socket, sizeof(p->socket), "%s/dataplane.sock", p->run_dir);
	snprintf(p->log, sizeof(p->log), "%s/log", p->run_dir);
}

static void
spawn(struct process *p)
{
	char *program = getenv("KARMALB_DATAPLANE");
	char port[] = "--port=none=net_ring0", source[] = "--source=10.0.0.240/30",
	     flows[] = "--max-flows=1K", run_dir[] = "--run-dir";
	char *argv[] = {program, port, source, flows, run_dir, p->run_dir, NULL};
	int log;

	if (program == NULL)
		give_up("KARMALB_DATAPLANE is not set");
	p->pid = fork();
	if (p->pid < 0)
		give_up("fork");
	if (p->pid > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	execv(program, argv);
	_exit(127);
}

static bool
answers(const struct process *p)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strcpy(a.sun_path, p->socket);
	bool ok = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	close(fd);
	return ok && process_said(p, "ready: ");
}

bool
process_start(struct process *p)
{
	unlink(p->log);
	spawn(p);
	for (unsigned ms = 0; ms < LIMIT_MS; ms += STEP_MS) {
		if (!process_is_alive(p))
			return false;
		if (answers(p))
			return true;
		wait_a_step();
	}
	return false;
}

int
process_run(struct process *p)
{
	int status;

	spawn(p);
	for (unsigned ms = 0; ms < LIMIT_MS; ms += STEP_MS) {
		if (waitpid(p->pid, &status, WNOHANG) == p->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		wait_a_step();
	}
	process_end(p, SIGKILL);
	return -1;
}

bool
process_is_alive(const struct process *p)
{
	siginfo_t info = {0};

	/* Also asked by forked test cases, whose child it is not. */
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		return info.si_pid == 0;
	return kill(p->pid, 0) == 0;
}

int
process_end(struct process *p, int signal)
{
	int status;

	kill(p->pid, signal);
	if (waitpid(p->pid, &status, 0) != p->pid)
		give_up("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool
process_said(const struct process *p, const char *words)
{
	static char text[1 << 20];
	FILE *f = fopen(p->log, "r");

	if (f == NULL)
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return strstr(text, words) != NULL;
}

void
process_forget(struct process *p)
{
	unlink(p->socket);
	unlink(p->log);
	rmdir(p->run_dir);
}
