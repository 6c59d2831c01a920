package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// findings is what one server says of itself; "" where it does not say.
type findings struct {
	addr, version, valkey, role, policy string
}

// inspect reads what a server says of itself. What it refuses to say is not known;
// only that it does not answer, or lets nobody in, is an error.
func inspect(ctx context.Context, node *redis.Client) (findings, error) {
	f := findings{addr: node.Options().Addr}
	questions := [][]any{{"INFO", "server"}, {"INFO", "replication"}, {"INFO", "memory"}, {"CONFIG", "GET", "maxmemory-policy"}}
	cmds := make([]*command, len(questions))
	for i, q := range questions {
		cmds[i] = newCommand(ctx, q...)
	}
	fly(ctx, node, cmds)
	for _, c := range cmds {
		r, err := c.answer()
		if err != nil {
			return f, entry(err)
		}
		if err := barred(r); err != nil {
			return f, err
		}
		if r.kind == array && len(r.items) == 2 {
			f.policy = string(r.items[1].text)
		}
		info := string(r.text)
		f.version = cmp.Or(f.version, infoField(info, "redis_version"))
		f.valkey = cmp.Or(f.valkey, infoField(info, "valkey_version"))
		f.role = cmp.Or(f.role, infoField(info, "role"))
		f.policy = cmp.Or(f.policy, infoField(info, "maxmemory_policy"))
	}
	return f, nil
}

// infoField returns a field of INFO; "" if it is not there.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// judge tells whether a server may keep records.
func (s *Store) judge(f findings) error {
	switch checked := s.options.EvictionChecked != ""; {
	case f.role == "slave":
		return fmt.Errorf("%w: %s is a replica: connect to the master, or by Sentinel (Universal.MasterName)", ErrUnfit, f.addr)
	case f.policy == "" && !checked:
		return fmt.Errorf("%w: %s does not tell its maxmemory-policy: make sure that it is noeviction and say by whom in Options.EvictionChecked", ErrUnfit, f.addr)
	case f.policy != "" && f.policy != "noeviction" && !checked:
		return fmt.Errorf("%w: %s has maxmemory-policy %s and may evict a claim, which runs the action twice: set noeviction", ErrUnfit, f.addr, f.policy)
	}
	return nil
}

// before7 tells whether a server's SET does not take NX with GET.
func (f findings) before7() bool { return since(f.version, 0, 0) && !since(f.version, 7, 0) }

// swapsAlone tells whether a server's SET takes IFEQ: Redis since 8.4, Valkey, which
// calls itself some older Redis besides, since 8.1.
func (f findings) swapsAlone() bool {
	if f.valkey != "" {
		return since(f.valkey, 8, 1)
	}
	return since(f.version, 8, 4)
}

// since tells whether a version is that one or a later one; one that cannot be read
// is neither.
func since(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	return err == nil && (a > major || a == major && b >= minor)
}

// barred is the error of a server that answers but takes no commands: for now, or
// from us.
func barred(r reply) error {
	if r.kind != failure {
		return nil
	}
	switch code(r.text) {
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY":
		return refusal(r.text)
	case "NOAUTH", "WRONGPASS":
		return fmt.Errorf("%w: %w", ErrUnfit, refusal(r.text))
	}
	return nil
}

// entry is the error of a connection that could not be made ready for use. What
// the server said no to is wrong until somebody changes it.
func entry(err error) error {
	var refused redis.Error
	if !errors.As(err, &refused) {
		return err
	}
	said := []byte(refused.Error())
	switch code(said) {
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return fmt.Errorf("%w: %w", ErrUnfit, refusal(said))
	case "ERR":
		if strings.Contains(string(said), "DB index") {
			return fmt.Errorf("%w: %w", ErrUnfit, refusal(said))
		}
	}
	return refusal(said)
}

// tryClaim finds out by a claim of a millisecond whether SET takes NX with GET,
// where the server does not say what it is.
func (s *Store) tryClaim(ctx context.Context) (byScript bool, err error) {
	const name = "idem:probe"
	r, err := s.call(ctx, name, "SET", name, "", "NX", "GET", "PX", 1)
	return r.kind == failure && syntax(r.text), err
}
