#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# What a person, a script or a broken peer says wrong is answered with a sentence, and nothing of it
# comes into force.
. "$(dirname "$0")/_init.sh"

start_world 2 'ha_strategy = "random"; ha_ping_interval = "0"; ha_period_karma = "60s";'
load_start --clients 4 --rate 100
load_is_flowing
in_force() {
	ask_json 'SHOW SERVICES' "[r[0]['ha_strategy'], r[0]['epoch'], r[0]['karma_rule'], r[0]['period_s']]"
	ask_json 'SHOW MIRRORS' '[m["share"] for m in r]'
}
before=$(in_force)

# refused STATEMENT PATTERN: exit status 1 and a sentence that says so.
refused() {
	local said status=0
	said=$(ctl -e "$1" 2>&1) || status=$?
	expect_equal "exit status of '$1'" "$status" 1
	expect_match "'$1'" "$said" "$2"
	step "'$1': $said"
}

refused 'SHOW MIRORS' 'MIRRORS'
refused 'SHOW' 'SERVICES'
refused "SET SERVICE web ha_strategy = 'nodeadz'" 'nodeads'
refused "SET SERVICE wep ha_strategy = 'nodeads'" 'web'
refused "SET SERVICE web no_such_thing = 'x'" 'no_such_thing'
refused "SET SERVICE web ha_strategy = 'nodeads" 'quote'
refused "SET SERVICE web karma_gain = '7'" 'karma_gain'
refused "SET SERVICE web ha_period_karma = '0'" 'ha_period_karma'
refused "DROP TABLE web" 'DROP'
expect_equal "in force after bad statements" "$(in_force)" "$before"

step "bytes that are no HTTP, and too many of them, on control.sock"
/usr/bin/python3 - "$WORLD_DIR/control.sock" <<'END' || fail "control.sock"
import os, socket, sys
def talk(payload):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(sys.argv[1])
    try:
        s.sendall(payload)
        s.shutdown(socket.SHUT_WR)
        got = b""
        while part := s.recv(65536):
            got += part
        return got
    except (BrokenPipeError, ConnectionResetError):
        return b""
for payload in (b"", b"\0" * 100, os.urandom(4096), b"GET / HTTP/1.1\r\n\r\n", b"A" * 200_000,
        b"POST /cli HTTP/1.1\r\nContent-Length: 4000000000\r\n\r\nx",
        b"POST /cli HTTP/1.1\r\nContent-Length: 5\r\n\r\nSHOW\xff",
        b"POST /nowhere HTTP/1.1\r\nContent-Length: 4\r\n\r\nHELP"):
    answer = talk(payload)
    print(payload[:30], "->", answer[:60])
    if b" HTTP/1.1\r\n" in payload:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 4") and body.strip(), answer
END
expect_equal "in force after junk on control.sock" "$(in_force)" "$before"

step "bytes that are no message on dataplane.sock"
slay controlplane
/usr/bin/python3 - "$WORLD_DIR/dataplane.sock" "$TOP/include/karmalb/wire.h" <<'END' || fail "dataplane.sock"
import os, re, socket, struct, sys, time
contract = open(sys.argv[2], encoding="utf-8").read()
VERSION = int(re.search(r"KARMALB_PROTOCOL_VERSION (\d+)", contract)[1])
numbers = {name: int(n) for name, n in re.findall(r"M\((\w+), (\d+),", contract)}
HELLO, BEGIN, COMMIT, REFUSED = (numbers[m] for m in ("HELLO", "BEGIN", "COMMIT", "REFUSED"))
def header(message, size, version=VERSION):
    return struct.pack("=HHI", message, version, size)
def talk(*messages):
    """Sends them; returns (sentence of REFUSED or None, whether the link was closed)."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(30)
    s.connect(sys.argv[1])
    for message in messages:
        try:
            s.send(message)
        except BrokenPipeError:
            break
    sentence = None
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            got = s.recv(65536)
        except (TimeoutError, ConnectionResetError):
            return sentence, not isinstance(sys.exc_info()[1], TimeoutError)
        if not got:
            return sentence, True
        if struct.unpack_from("=H", got)[0] == REFUSED:
            sentence = got[8:].split(b"\0")[0].decode()
    return sentence, False
hello = header(HELLO, 16) + bytes(8)
cases = {
    "one byte": (b"x",),
    "random bytes": (os.urandom(200),),
    "a size that lies": (header(HELLO, 4096) + bytes(8),),
    "another version": (header(HELLO, 16, VERSION + 1) + bytes(8),),
    "a message that does not exist": (header(77, 8),),
    "a message of the other direction": (header(REFUSED, 248) + bytes(240),),
    "COMMIT without BEGIN": (hello, header(COMMIT, 16) + bytes(8)),
    "BEGIN with too many services": (hello, header(BEGIN, 16) + struct.pack("=II", 1 << 20, 60000)),
    "BEGIN with an old epoch": (hello, header(BEGIN, 16) + struct.pack("=II", 0, 0)),
}
for name, messages in cases.items():
    sentence, is_closed = talk(*messages)
    print(f"{name}: {sentence}")
    assert sentence and len(sentence) > 10, name
    assert is_closed, name + ": the link stays open"
END
is_running dataplane || fail "the data plane died of it"
controlplane_start || fail "the control plane cannot connect any more"
expect_equal "shares after junk on dataplane.sock" "$(ask_json 'SHOW MIRRORS' '[m["share"] for m in r]')" \
	"$(tail -n 1 <<<"$before")"

step "configurations"
# wrong PATTERN SED_EXPRESSION: --check refuses the file changed like this, naming file and line.
wrong() {
	local said status=0
	sed -E "$2" "$WORLD_DIR/karmalb.conf" >"$WORLD_DIR/wrong.conf"
	! cmp -s "$WORLD_DIR/karmalb.conf" "$WORLD_DIR/wrong.conf" || fail "'$2' changes nothing"
	said=$("$BUILD/karmalb-controlplane" --check "$WORLD_DIR/wrong.conf" 2>&1 >/dev/null) || status=$?
	expect_equal "exit status of --check with '$2'" "$status" 1
	expect_match "--check with '$2'" "$said" "$1"
	expect_match "--check with '$2'" "$said" 'wrong\.conf:[0-9]+'
	step "$said"
}
wrong 'quotes' 's/ha_period_karma = "60s"/ha_period_karma = 2m/'
wrong '5000000000|too large|digits|fit' 's/max_flows = 65536/max_flows = 5000000000/'
wrong 'nodeads' 's/ha_strategy = "random"/ha_strategy = "nodead"/'
wrong 'mirrors' 's/mirrors =/mirors =/'
wrong '10\.99\.0\.300' 's/10\.99\.0\.101/10.99.0.300/'
wrong 'm2' 's/name = "m1"/name = "m2"/'
load_stop
expect_equal "failed requests" "$(load_failed)" 0
