package redisstore

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// script is a piece of Lua and the name by which a server that has seen it knows
// it. SHA-1 is that name by the protocol of EVALSHA; nothing is secured by it.
type script struct{ text, sha string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

// The replies of both scripts: 1 done, 0 nothing is there, or what is there and
// its PTTL.
var (
	// swapScript stores ARGV[2] where exactly ARGV[1] is. Lua strings are bytes, and
	// the nothing of GET is the boolean false, which equals no string: an empty
	// value and none are two things here too. With a fourth argument it also wakes
	// those who watch the name; a user who may not publish stores all the same.
	swapScript = newScript(`local there = redis.call('GET', KEYS[1])
if there == ARGV[1] then
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if ARGV[4] then redis.pcall('PUBLISH', KEYS[1], '') end
return 1 end
if there == ARGV[2] then return 1 end
if there then return {there, redis.call('PTTL', KEYS[1])} end
return 0`)

	// createScript is Create for servers whose SET does not take NX and GET
	// together (before Redis 7).
	createScript = newScript(`local there = redis.call('GET', KEYS[1])
if there then return {there, redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

	// renewingSwap is swapScript as it must not be: its own value gets new life.
	renewingSwap = newScript(`local there = redis.call('GET', KEYS[1])
if there == ARGV[1] or there == ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end
if there then return {there, redis.call('PTTL', KEYS[1])} end
return 0`)
)

// The same two for claims that wait for replicas: our own value, found by a claim
// whose reply was lost, is written again as it is. WAIT counts what its own
// connection wrote, and the first write came by another.
var (
	syncedSwap = newScript(`local there = redis.call('GET', KEYS[1])
if there == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end
if there == ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') return 1 end
if there then return {there, redis.call('PTTL', KEYS[1])} end
return 0`)

	syncedCreate = newScript(`local there = redis.call('GET', KEYS[1])
if there == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL') end
if there then return {there, redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)
)

// wakeWord is the last word of a Swap that wakes those who watch the name.
const wakeWord = "wake"

// syntax tells whether a refusal is that of a server which does not know a command
// in this form: it has refused the call, not made it.
func syntax(text []byte) bool { return strings.Contains(string(text), "syntax") }

// learn takes note that a server does not know the form in which op was sent: the
// last look met another one. The next calls are sent by script at once.
func (s *Store) learn(op *idem.Op) {
	last := s.seen.Load()
	seen := *last
	if op.Kind == idem.OpSwap {
		seen.swapsAlone = false
	} else {
		seen.byScript = true
	}
	s.seen.CompareAndSwap(last, &seen) // else somebody has looked just now
}

// scriptFor is the script of an operation.
func scriptFor(op *idem.Op, sync bool) *script {
	switch swap := op.Kind == idem.OpSwap; {
	case swap && broken.Is(broken.S9OwnValueRenews):
		return &renewingSwap
	case swap && sync:
		return &syncedSwap
	case swap:
		return &swapScript
	case sync:
		return &syncedCreate
	}
	return &createScript
}
