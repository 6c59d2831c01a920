package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

func strict(o *redisstore.Options) { o.EvictionChecked = "" }

// The server decides whether it is fit; whoever knows better signs for it.
//
// Faults: 59.
func TestUnfitServerIsRefusedAtOpen(t *testing.T) {
	evicting, _ := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	locked, _ := redistest.Start(t, "--requirepass", "secret-password")
	master := redistest.Server(t)
	host, port, _ := strings.Cut(master, ":")
	replica, _ := redistest.Start(t, "--replicaof", host+" "+port)
	silent := redistest.Miniredis(t).Addr()

	for name, c := range map[string]struct {
		addr   string
		change func(*redisstore.Options)
		says   string // "" means it opens
	}{
		"noeviction":          {master, strict, ""},
		"evicting":            {evicting, strict, "allkeys-lru"},
		"evicting, signed":    {evicting, func(o *redisstore.Options) { o.EvictionChecked = "ops" }, ""},
		"policy unreadable":   {silent, strict, "EvictionChecked"},
		"unreadable, signed":  {silent, func(o *redisstore.Options) { o.EvictionChecked = "ops" }, ""},
		"replica":             {replica, strict, "is a replica"},
		"no password":         {locked, strict, "NOAUTH"},
		"wrong password":      {locked, func(o *redisstore.Options) { o.Universal.Password = "wrong" }, "WRONGPASS"},
		"right password":      {locked, func(o *redisstore.Options) { o.Universal.Password = "secret-password" }, ""},
		"no such database":    {master, func(o *redisstore.Options) { o.Universal.DB = 4711 }, "DB index"},
		"another database":    {master, func(o *redisstore.Options) { o.Universal.DB = 3 }, ""},
		"user and password":   {locked, func(o *redisstore.Options) { o.Universal.Username, o.Universal.Password = "default", "secret-password" }, ""},
		"password not needed": {master, func(o *redisstore.Options) { o.Universal.Password = "x" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tryOpen(c.addr, c.change)
			switch {
			case c.says == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case c.says == "":
				defer s.Close()
				if err := s.Ready(t.Context()); err != nil {
					t.Errorf("open, but not ready: %v", err)
				}
				return
			case err == nil:
				_ = s.Close()
				t.Fatal("it opened")
			case !errors.Is(err, redisstore.ErrUnfit) || !strings.Contains(err.Error(), c.says):
				t.Errorf("the error does not say %q: %v", c.says, err)
			}
			if strings.Contains(err.Error(), "secret-password") {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
}

// Redis is down when the program starts: it starts, and works when Redis does.
func TestServerThatIsDownAtStart(t *testing.T) {
	addr := redistest.FreeAddr(t)
	s := open(t, addr)
	if err := s.Ready(t.Context()); !errors.Is(err, redisstore.ErrUnseen) {
		t.Errorf("Ready: %v, want ErrUnseen", err)
	} else if strings.Contains(err.Error(), "outcome") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Ready: %v, want what the server said and nothing of an outcome", err)
	}
	start := time.Now()
	for range 200 {
		if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); !errors.Is(err, redisstore.ErrUnseen) || r.Done {
			t.Fatalf("Create without a server: %+v, %v", r, err)
		}
	}
	if took := time.Since(start); took > time.Minute { // a busy machine; each by its time-out were six
		t.Errorf("200 calls that could not be made took %v", took)
	}
	if report := s.Report(); report.NotReady == nil || !strings.Contains(report.String(), "NOT READY") {
		t.Errorf("the report does not say that it is not ready: %s", report)
	}

	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	eventually(t, "a claim once the server is there", func() bool {
		r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute)
		return err == nil && r.Done
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
}

// What Open would have refused, had the server answered, every call refuses, until
// the server is put right.
func TestUnfitServerThatWasDownAtStart(t *testing.T) {
	addr, _ := redistest.Start(t, "--maxmemory-policy", "volatile-ttl")
	proxy := redistest.NewProxy(t, addr)
	resume := proxy.Refuse()
	s := open(t, proxy.Addr(), strict)
	resume()
	eventually(t, "ErrUnfit", func() bool {
		r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute)
		if err == nil {
			t.Fatalf("a server that evicts took a claim: %+v", r)
		}
		return errors.Is(err, redisstore.ErrUnfit)
	})
	for name, call := range map[string]func() error{
		"Swap":  func() error { _, err := s.Swap(t.Context(), "a", nil, []byte("v"), time.Minute); return err },
		"Load":  func() error { _, err := s.Load(t.Context(), "a"); return err },
		"Now":   func() error { _, err := s.Now(t.Context()); return err },
		"Ready": func() error { return s.Ready(t.Context()) },
	} {
		if err := call(); !errors.Is(err, redisstore.ErrUnfit) {
			t.Errorf("%s: %v, want ErrUnfit", name, err)
		}
	}
	redistest.Do(t, addr, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("put right, Ready says %v", err)
	}
	if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err != nil || !r.Done {
		t.Errorf("put right, Create says %+v, %v", r, err)
	}
}

func TestOptionsAreRefusedAllAtOnce(t *testing.T) {
	_, err := redisstore.Open(t.Context(), redisstore.Options{
		CallTimeout: -1,
		Universal: &redis.UniversalOptions{
			Addrs: []string{"redis://user:secret-password@host:6379"}, ReadOnly: true, RouteByLatency: true, RouteRandomly: true,
			MaxRetries: 3, ReadTimeout: time.Second, DialTimeout: time.Second, WriteTimeout: time.Second, PoolTimeout: time.Second,
			DialerRetries: 2, MaxRedirects: 8, Protocol: 3, ClientSideCacheConfig: &redis.ClientSideCacheConfig{}, MasterName: "m", IsClusterMode: true,
		},
	})
	if !errors.Is(err, redisstore.ErrOptions) {
		t.Fatalf("got %v, want ErrOptions", err)
	}
	for _, name := range []string{
		"CallTimeout", "URL", "ReadOnly", "RouteByLatency", "RouteRandomly", "MaxRetries", "ReadTimeout", "DialTimeout", "WriteTimeout",
		"PoolTimeout", "DialerRetries", "MaxRedirects", "Protocol", "ClientSideCacheConfig", "MasterName",
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "secret-password") {
		t.Errorf("the error holds a password: %v", err)
	}
	for _, o := range []redisstore.Options{{}, {Universal: &redis.UniversalOptions{}}} {
		if _, err := redisstore.Open(t.Context(), o); !errors.Is(err, redisstore.ErrOptions) {
			t.Errorf("without an address: %v, want ErrOptions", err)
		}
	}
}

// What the caller hands in stays as it is: the driver shuffles addresses.
func TestOptionsAreCopied(t *testing.T) {
	c := redistest.TheCluster(t)
	want := slices.Concat(c.Masters, c.Replicas)
	for range 10 {
		addrs := slices.Clone(want)
		s := openCluster(t, addrs)
		if !slices.Equal(addrs, want) {
			t.Fatalf("the addresses are in another order: %v, were %v", addrs, want)
		}
		_ = s.Close()
	}
}

func TestFromURL(t *testing.T) {
	u, err := redisstore.FromURL("redis://user:pass@example.net:6380/2")
	if err != nil || u.Addrs[0] != "example.net:6380" || u.Username != "user" || u.Password != "pass" || u.DB != 2 || u.TLSConfig != nil {
		t.Errorf("got %+v, %v", u, err)
	}
	if u, err := redisstore.FromURL("rediss://example.net"); err != nil || u.TLSConfig == nil || u.Addrs[0] != "example.net:6379" {
		t.Errorf("rediss: got %+v, %v", u, err)
	}
	for _, bad := range []string{
		"http://:secret@host", "redis://:secret@host:6379/x", "redis://:secret@host?read_timeout=5s", "redis://:secret@ho st", ":secret",
	} {
		if _, err := redisstore.FromURL(bad); !errors.Is(err, redisstore.ErrOptions) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestReport(t *testing.T) {
	addr := redistest.Server(t)
	s := open(t, addr, func(o *redisstore.Options) { o.CallTimeout = 20 * time.Millisecond })
	r := s.Report()
	if r.Mode != "single" || r.Clock != "the server" || r.NotReady != nil || r.ClaimBy != "SET NX GET" || r.Retries != 0 || r.Redirects != 3 ||
		r.DialTimeout != 20*time.Millisecond || r.CallTimeout != 20*time.Millisecond || r.WorstCall != 40*time.Millisecond ||
		r.LongestCall != 2*time.Second || r.PoolSize < 10 || r.Conns < 1 ||
		r.Pipelines != redisstore.DefaultPipelines || r.PipelineSize != redisstore.DefaultPipelineSize {
		t.Errorf("got %+v", r)
	}
	for _, want := range []string{addr, "noeviction", "retries by the driver: 0", "worst call 40ms", "at most", "2, of at most 512 commands"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, r)
		}
	}
	if d := s.Describe(); d.WorstCall != 40*time.Millisecond || d.Name != "redis" || d.Local || !strings.Contains(d.Details, "retries by the driver: 0") {
		t.Errorf("it describes itself as %+v", d)
	}
	old := open(t, addr)
	old.ClaimByScript()
	if r := old.Report(); r.ClaimBy != "script" {
		t.Errorf("before Redis 7 the report says: claim by %s", r.ClaimBy)
	}
}

// A health check that is cut short says so and harms nobody else.
func TestReadyWithoutPatience(t *testing.T) {
	s := open(t, redistest.Miniredis(t).Addr())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Ready(over); !errors.Is(err, redisstore.ErrUnseen) {
		t.Errorf("Ready with a context that is over: %v", err)
	}
	if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err != nil || !r.Done {
		t.Errorf("the next claim: %+v, %v", r, err)
	}
}

// A server that turns new connections away is an error to every call. The driver
// leaves the commands of a pipeline without an error then.
func TestPasswordThatChangesWhileRunning(t *testing.T) {
	addr, _ := redistest.Start(t)
	s := open(t, addr, func(o *redisstore.Options) { o.Universal.Password = "first" })
	redistest.Do(t, addr, "SET", "secret-name", "v", "PX", "60000")
	redistest.Do(t, addr, "CONFIG", "SET", "requirepass", "second")
	s.DropConnections()
	for name, err := range everyCall(t, s) {
		if err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
			t.Errorf("%s says: %v", name, err)
		}
	}
	if err := s.Ready(t.Context()); !errors.Is(err, redisstore.ErrUnfit) {
		t.Errorf("Ready: %v, want ErrUnfit", err)
	}
}

// After Close nothing is left, and calls fail.
func TestClose(t *testing.T) {
	s := open(t, redistest.Server(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err == nil {
		t.Error("closed, it took a claim")
	}
}

func ExampleOpen() {
	server := miniredis.NewMiniRedis() // yours is a Redis
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	store, err := redisstore.Open(ctx, redisstore.Options{
		Universal:       &redis.UniversalOptions{Addrs: []string{server.Addr()}},
		EvictionChecked: "miniredis, which has no memory limit",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	name := "idem:shop:order:create:abcdefghijklmnopqrstuvwxyz"
	first, _ := store.Create(ctx, name, []byte("a claim"), time.Hour)
	again, _ := store.Create(ctx, name, []byte("another"), time.Hour)
	fmt.Printf("%v, then %v: %s\n", first.Done, again.Done, again.Value)
	// Output: true, then false: a claim
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come about", what)
		}
	}
}

// briefly is a context that ends soon.
func briefly(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestInstrumentIsGivenTheClientBeforeItsFirstCall(t *testing.T) {
	m := redistest.Miniredis(t)
	var seen int
	open(t, m.Addr(), func(o *redisstore.Options) {
		o.Instrument = func(redis.UniversalClient) error {
			seen = m.CommandCount()
			return nil
		}
	})
	if seen != 0 {
		t.Errorf("%d calls had been made", seen)
	}
	if _, err := tryOpen(m.Addr(), func(o *redisstore.Options) {
		o.Instrument = func(redis.UniversalClient) error { return errors.New("no") }
	}); !errors.Is(err, redisstore.ErrOptions) {
		t.Errorf("%v", err)
	}
}
