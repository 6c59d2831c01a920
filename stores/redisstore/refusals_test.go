package redisstore_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// Whatever a server says no with, every call is an error that names it: never Done,
// never "nothing is there", never a value; and once it has stopped saying so the same
// store works. What it says of the connection it says of every call in the pipeline.
func TestEveryRefusalIsAnError(t *testing.T) {
	m := redistest.Miniredis(t)
	s := open(t, m.Addr())
	for _, said := range []string{
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"NOREPLICAS Not enough good replicas to write.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"CLUSTERDOWN The cluster is down",
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"MOVED 3999 127.0.0.1:6381", // of a server that was opened as a single one
		"ASK 3999 127.0.0.1:6381",
		"CROSSSLOT Keys in request don't hash to the same slot",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"NOPERM User app has no permissions to run the 'set' command",
		"NOAUTH Authentication required.",
		"WRONGTYPE Operation against a key holding the wrong kind of value",
		"NOSCRIPT No matching script. Please use EVAL.", // for ever
		"ERR Error running script (call to f_2f): @user_script: Script killed by user with SCRIPT KILL...",
		"ERR syntax error", // for ever
		"ERR unknown command",
		"-",
	} {
		m.SetError(said)
		calls := everyCall(t, s)
		for i, r := range s.Apply(t.Context(), append(creates("refused:", 2),
			idem.Op{Kind: idem.OpSwap, Name: "swapped", Old: []byte("a"), Value: []byte("b"), TTL: time.Minute},
			idem.Op{Kind: idem.OpLoad, Name: "looked at"})) {
			if r.Done || r.Value != nil {
				t.Errorf("%q: %d of a batch is %+v", said, i, r)
			}
			calls["Apply "+string(rune('0'+i))] = r.Err
		}
		_, calls["Entries"] = s.Entries(t.Context(), "index", time.Now(), 10)
		_, calls["Scan"] = s.Scan(t.Context(), "", "", 10)
		calls["Index"] = s.Index(t.Context(), "index", []idem.IndexEntry{{Name: "x", Due: time.Now()}}, time.Hour)
		calls["Reindex"] = s.Reindex(t.Context(), "index", []idem.IndexMove{{Name: "x", Due: time.Now()}})
		calls["Append"] = s.Append(t.Context(), "journal", 10, [][]string{{"a", "b"}})
		word, _, _ := strings.Cut(said, " ")
		for name, err := range calls {
			if err == nil || !strings.Contains(err.Error(), word) || errors.Is(err, redisstore.ErrNotSent) {
				t.Errorf("%s, refused with %q, says: %v", name, said, err)
			}
		}
		m.SetError("")
		for name, err := range everyCall(t, s) {
			if err != nil {
				t.Errorf("%s, after %q was over: %v", name, said, err)
			}
		}
	}
}

// Given a server that takes no write (it is full, cannot save, or has too few
// replicas) then nothing new begins, and what is done is still told; the claim of a
// batch, too.
func TestWhatIsDoneIsToldByAServerThatTakesNoWrite(t *testing.T) {
	dir := t.TempDir()
	addr, _ := redistest.Start(t, "--dir", dir)
	s := open(t, addr)
	done(t, "", "Create")(s.Create(t.Context(), "kept", []byte("answer"), time.Minute))
	for code, setting := range map[string][3]string{
		"OOM":        {"maxmemory", "1", "0"},
		"NOREPLICAS": {"min-replicas-to-write", "1", "0"},
		"MISCONF":    {"stop-writes-on-bgsave-error", "yes", "no"},
	} {
		if code == "MISCONF" {
			failSaving(t, addr, dir)
		}
		if got := redistest.Do(t, addr, "CONFIG", "SET", setting[0], setting[1]); got != "+OK" {
			t.Fatal(got)
		}
		found(t, code, "Create", "answer")(s.Create(t.Context(), "kept", []byte("another's"), time.Minute))
		found(t, code, "Load", "answer")(s.Load(t.Context(), "kept"))
		if r, err := s.Create(t.Context(), "new", []byte("v"), time.Minute); err == nil || r.Done || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: something new began: %+v, %v", code, r, err)
		}
		if r, err := s.Swap(t.Context(), "kept", []byte("answer"), []byte("v"), time.Minute); err == nil || r.Done || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: a settle: %+v, %v", code, r, err)
		}
		for i, r := range s.Apply(t.Context(), append(creates("new", 2), idem.Op{Kind: idem.OpCreate, Name: "kept", Value: []byte("x"), TTL: time.Minute})) {
			if i < 2 && r.Err == nil || i == 2 && (r.Err != nil || string(r.Value) != "answer") {
				t.Errorf("%s, %d of a batch: %+v", code, i, r)
			}
		}
		redistest.Do(t, addr, "CONFIG", "SET", setting[0], setting[2])
	}
	done(t, "once it does", "Create")(s.Create(t.Context(), "new", []byte("v"), time.Minute))
}

// failSaving has a server try to save where a folder is in the way.
func failSaving(t *testing.T, addr, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "dump.rdb", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := redistest.Do(t, addr, "CONFIG", "SET", "save", "3600 1"); got != "+OK" {
		t.Fatal(got)
	}
	redistest.Do(t, addr, "BGSAVE")
	eventually(t, "a save that failed", func() bool {
		return strings.Contains(redistest.Do(t, addr, "INFO", "persistence"), "rdb_last_bgsave_status:err")
	})
}

// Given a server that a script of somebody's keeps busy, then it is not called unfit,
// neither at the start nor later: it answers no question until the script is over.
func TestABusyServerIsNotUnfit(t *testing.T) {
	addr, _ := redistest.Start(t, "--busy-reply-threshold", "1")
	was := open(t, addr, strict)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("EVAL \"while true do end\" 0\r\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a busy server", func() bool { return strings.HasPrefix(redistest.Do(t, addr, "GET", "x"), "-BUSY") })
	s := open(t, addr, strict)
	for _, s := range []*redisstore.Store{was, s} {
		if err := s.Ready(t.Context()); !errors.Is(err, redisstore.ErrUnseen) || !strings.Contains(err.Error(), "BUSY") {
			t.Errorf("Ready says %v", err)
		}
		if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err == nil || r.Done || errors.Is(err, redisstore.ErrUnfit) {
			t.Errorf("a claim: %+v, %v", r, err)
		}
	}
	if got := redistest.Do(t, addr, "SCRIPT", "KILL"); got != "+OK" {
		t.Fatal(got)
	}
	eventually(t, "a claim once the script is over", func() bool {
		r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute)
		return err == nil && r.Done
	})
}
