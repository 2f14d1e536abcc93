#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: hold_thread.py TID

Stops one thread, and not the others of its process, until this program is ended.  Says "held".
"""

import ctypes
import os
import sys
import time

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000


def main(argv):
    if len(argv) != 2:
        sys.exit(__doc__)
    tid = int(argv[1])
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if ptrace(request, tid, None, None) != 0:
            sys.exit(f"cannot hold thread {tid}: {os.strerror(ctypes.get_errno())}")
    os.waitpid(tid, WALL)
    print("held", flush=True)
    while True:  # the kernel lets the thread go when we end
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv)
