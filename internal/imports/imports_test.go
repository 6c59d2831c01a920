package imports

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// root is the repository, seen from this package.
const root = "../.."

func TestTheHouseIsInOrder(t *testing.T) {
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tree.Faults() {
		t.Error(f)
	}
	// A walk that finds nothing finds no fault either.
	for _, want := range []string{"core", "internal/broken", "internal/imports"} {
		if !slices.ContainsFunc(tree.Files, func(f *File) bool { return f.Dir == want }) {
			t.Errorf("no file of %s was read", want)
		}
	}
}

// control is a tree of one file and the one rule that it breaks, or none.
type control struct {
	given string
	path  string
	src   string
	rule  string // "" where nothing is wrong
}

// imp is the source of a package that imports one thing.
func imp(name, path string) string {
	return "// Package " + name + " is a control.\npackage " + name + "\n\nimport _ \"" + path + "\"\n"
}

const idem = Module + "/"

var controls = []control{
	// Every arrow of the house, and beside it one that is none.
	{"core imports the switches", "core/a.go", imp("idem", idem+"internal/broken"), ""},
	{"core imports net/http", "core/a.go", imp("idem", "net/http"), "direction"},
	{"core imports net/http/httptrace", "core/a.go", imp("idem", "net/http/httptrace"), "direction"},
	{"core imports net, which is no net/http", "core/a.go", imp("idem", "net"), ""},
	{"core imports httpflow", "core/a.go", imp("idem", idem+"core/httpflow"), "direction"},
	{"core imports a store", "core/a.go", imp("idem", idem+"stores/memstore"), "direction"},
	{"core imports telemetry", "core/a.go", imp("idem", idem+"telemetry"), "direction"},
	{"core imports another module", "core/a.go", imp("idem", "github.com/redis/go-redis/v9"), "direction"},
	{"core imports what is internal to tests", "core/a.go", imp("idem", idem+"internal/redistest"), "direction"},
	{"a test of core imports a store", "core/a_test.go", imp("idem_test", idem+"stores/memstore"), ""},
	{"httpflow imports core", "core/httpflow/a.go", imp("httpflow", idem+"core"), ""},
	{"httpflow imports net/http", "core/httpflow/a.go", imp("httpflow", "net/http"), ""},
	{"httpflow imports a structured-field parser", "core/httpflow/a.go", imp("httpflow", "github.com/dunglas/httpsfv"), ""},
	{"httpflow imports another module", "core/httpflow/a.go", imp("httpflow", "github.com/labstack/echo/v4"), "direction"},
	{"httpflow imports an adapter", "core/httpflow/a.go", imp("httpflow", idem+"adapters/stdhttp"), "direction"},
	{"reconcile imports core", "core/reconcile/a.go", imp("reconcile", idem+"core"), ""},
	{"reconcile imports net/http", "core/reconcile/a.go", imp("reconcile", "net/http"), "direction"},
	{"reconcile imports httpflow", "core/reconcile/a.go", imp("reconcile", idem+"core/httpflow"), "direction"},
	{"storetest imports core", "core/storetest/a.go", imp("storetest", idem+"core"), ""},
	{"storetest imports a store", "core/storetest/a.go", imp("storetest", idem+"stores/memstore"), "direction"},
	{"storetest imports another module", "core/storetest/a.go", imp("storetest", "pgregory.net/rapid"), "direction"},
	{"a store imports core", "stores/memstore/a.go", imp("memstore", idem+"core"), ""},
	{"a store imports net/http", "stores/memstore/a.go", imp("memstore", "net/http"), "direction"},
	{"a store imports httpflow", "stores/redisstore/a.go", imp("redisstore", idem+"core/httpflow"), "direction"},
	{"a store imports its driver", "stores/redisstore/a.go", imp("redisstore", "github.com/redis/go-redis/v9"), ""},
	{"a store imports another's driver", "stores/sqlstore/a.go", imp("sqlstore", "github.com/redis/go-redis/v9"), "direction"},
	{"a store imports a test library", "stores/redisstore/a.go", imp("redisstore", "github.com/alicebob/miniredis/v2"), "direction"},
	{"a store imports a store", "stores/tiered/a.go", imp("tiered", idem+"stores/memstore"), "direction"},
	{"etcdstore imports net/http", "stores/etcdstore/a.go", imp("etcdstore", "net/http"), "direction"},
	{"an adapter imports httpflow", "adapters/stdhttp/a.go", imp("stdhttp", idem+"core/httpflow"), ""},
	{"an adapter imports core past httpflow", "adapters/stdhttp/a.go", imp("stdhttp", idem+"core"), "direction"},
	{"an adapter imports a store", "adapters/fiber/a.go", imp("fiberidem", idem+"stores/memstore"), "direction"},
	{"an adapter imports OpenTelemetry", "adapters/echo/a.go", imp("echoidem", "go.opentelemetry.io/otel/trace"), "direction"},
	{"an adapter imports its framework", "adapters/echo/a.go", imp("echoidem", "github.com/labstack/echo/v4"), ""},
	{"an adapter imports another framework", "adapters/echo/a.go", imp("echoidem", "github.com/gofiber/fiber/v2"), "direction"},
	{"adaptertest imports a store", "adapters/adaptertest/a.go", imp("adaptertest", idem+"stores/memstore"), "direction"},
	{"telemetry imports OpenTelemetry", "telemetry/a.go", imp("telemetry", "go.opentelemetry.io/otel"), ""},
	{"telemetry imports httpflow", "telemetry/a.go", imp("telemetry", idem+"core/httpflow"), "direction"},
	{"an audit sink imports its driver", "audit/redisstream/a.go", imp("redisstream", "github.com/redis/go-redis/v9"), ""},
	{"an audit sink imports a store", "audit/redisstream/a.go", imp("redisstream", idem+"stores/redisstore"), "direction"},
	{"audit itself imports no driver", "audit/a.go", imp("audit", "github.com/redis/go-redis/v9"), "direction"},
	{"audit imports a store", "audit/a.go", imp("audit", idem+"stores/redisstore"), "direction"},
	{"console imports core", "console/a.go", imp("console", idem+"core"), ""},
	{"console imports an adapter", "console/a.go", imp("console", idem+"adapters/stdhttp"), "direction"},
	{"a command imports a store", "cmd/idemctl/a.go", imp("main", idem+"stores/redisstore"), "direction"},
	{"frontend imports core", "frontend/a.go", imp("frontend", idem+"core"), "direction"},
	{"a folder of a room imports its neighbour", "telemetry/spans/a.go", imp("spans", idem+"telemetry"), ""},
	{"the switches import anything", "internal/broken/a.go", imp("broken", "strings"), "direction"},
	{"an example imports what it likes", "examples/shop/a.go", imp("main", idem+"stores/redisstore"), ""},
	{"a test server imports what it likes", "internal/redistest/a.go", imp("redistest", "github.com/alicebob/miniredis/v2"), ""},

	{"a package in no room", "stores/oddstore/a.go", "// Package oddstore is a control.\npackage oddstore\n", "room"},
	{"a package at the root", "a.go", "// Package idem is a control.\npackage idem\n", "room"},

	{"testing in a package of users", "core/a.go", imp("idem", "testing"), "testing"},
	{"testing/synctest in a package of users", "examples/shop/a.go", imp("shop", "testing/synctest"), "testing"},
	{"testing in a suite", "adapters/adaptertest/a.go", imp("adaptertest", "testing"), ""},
	{"testing in a test", "core/a_test.go", imp("idem", "testing"), ""},

	{"a program of users breaks a rule", "examples/shop/main.go", breaker("main"), "switch"},
	{"a package under internal breaks a rule", "internal/redistest/a.go", breaker("redistest"), "switch"},
	{"a test server breaks a rule", "internal/testbed/main.go", breaker("main"), ""},
	{"a test breaks a rule", "core/a_test.go", breaker("idem"), ""},
	{"a switch is read", "core/a.go", strings.ReplaceAll(breaker("idem"), "Set(", "Is("), ""},

	{"a long file", "core/a.go", "// Package idem is a control.\npackage idem\n" + strings.Repeat("// on and on\n", 450), "length"},
	{"a long test", "core/a_test.go", "// Package idem is a control.\npackage idem\n" + strings.Repeat("// on and on\n", 450), "length"},
	{"a file of 450 lines", "core/a.go", "// Package idem is a control.\npackage idem\n" + strings.Repeat("// on and on\n", 448), ""},

	{"an adapter that has grown", "adapters/echo/a.go", "// Package echoidem is a control.\npackage echoidem\n" + strings.Repeat("// and on\n", 79), "thin"},
	{"an adapter's long explanation", "adapters/echo/doc.go", "// Package echoidem is a control.\npackage echoidem\n" + strings.Repeat("// and on\n", 79), ""},
	{"an adapter's long test", "adapters/echo/a_test.go", "// Package echoidem is a control.\npackage echoidem\n" + strings.Repeat("// and on\n", 79), ""},
	{"the suite of adapters", "adapters/adaptertest/a.go", "// Package adaptertest is a control.\npackage adaptertest\n" + strings.Repeat("// and on\n", 79), ""},

	{"a test that sleeps", "core/a_test.go", sleeper("time.Sleep(1)"), "sleep"},
	{"a test that sleeps beside a bubble", "core/a_test.go", sleeper("synctest.Test(nil, func() {}); time.Sleep(1)"), "sleep"},
	{"a test that sleeps in a bubble", "core/a_test.go", sleeper("synctest.Test(nil, func() { time.Sleep(1) })"), ""},
	{"a helper that says it sleeps in a bubble", "core/a_test.go", sleeper("time.Sleep(1) /* the bubble's clock */"), ""},
	{"a poll with a bound", "core/a_test.go", strings.Replace(sleeper("time.Sleep(1); synctest.Wait()"), "init", "eventually", 1), ""},
	{"a demonstration that sleeps", "examples/shop/a.go", sleeper("time.Sleep(1)"), ""},

	{"a test that asks goleak itself", "stores/memstore/a_test.go", imp("memstore_test", "go.uber.org/goleak"), "leak"},
	{"leaktest asks goleak", "internal/leaktest/a.go", imp("leaktest", "go.uber.org/goleak"), ""},
	{"a test of Fiber that waits a second", "adapters/fiber/a_test.go", imp("fiberidem_test", "github.com/gofiber/fiber/v2") + "\nfunc f(app interface{ Test(...any) }) { app.Test(1) }\n", "patience"},
	{"a test of Fiber that waits", "adapters/fiber/a_test.go", imp("fiberidem_test", "github.com/gofiber/fiber/v2") + "\nfunc f(app interface{ Test(...any) }) { app.Test(1, -1) }\n", ""},
	{"no package comment", "core/a.go", "package idem\n", "comment"},
	{"a license is no package comment", "core/a.go", "// Copyright somebody\n\npackage idem\n", "comment"},
	{"a package named util", "internal/util/a.go", "// Package util is a control.\npackage util\n", "name"},
	{"a folder of one machine", "docs/a.md", "see " + placeNames[0] + "main\n", "place"},
	{"a registry in a lock file", "frontend/package-lock.json", "\"https://" + placeNames[4] + ".org/x\"\n", "place"},
	{"a link to nowhere", "docs/a.md", "[see](b.md#part)\n", "link"},
	{"a link to itself and out of the house", "docs/a.md", "[see](a.md#part), [up](..), [here](#part), [out](https://example.test/b.md)\n", ""},
	{"an ordinary page", "docs/a.md", "a temporary file\n", ""},
}

func breaker(name string) string {
	return "// Package " + name + " is a control.\npackage " + name + "\n\nimport sw \"" + Module + "/" + switches + "\"\n\nvar _ = sw.Set(\"P1\")\n"
}

func sleeper(body string) string {
	return "// Package idem is a control.\npackage idem\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\nfunc init() { " + body + " }\n"
}

func TestEachRuleFindsItsFaultAndNoOther(t *testing.T) {
	found := map[string]bool{}
	for _, c := range controls {
		t.Run(c.given, func(t *testing.T) {
			tree, err := Load(fstest.MapFS{c.path: {Data: []byte(c.src)}})
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, f := range tree.Faults() {
				// "testing" in an example's control is there for the sleep.
				if strings.HasPrefix(c.given, "a demonstration") && f.Rule == "testing" {
					continue
				}
				rules = append(rules, f.Rule)
				found[f.Rule] = true
			}
			var want []string
			if c.rule != "" {
				want = []string{c.rule}
			}
			if !slices.Equal(rules, want) {
				t.Errorf("%s: faults %q, want %q", c.path, rules, want)
			}
		})
	}
	for _, r := range Rules {
		if !found[r.Name] && r.Name != "clock" { // which needs two files, and has a test of its own
			t.Errorf("no control breaks the rule %q (%s)", r.Name, r.Says)
		}
	}
}

func TestEveryRoomWithWallsHasAControlThatRunsIntoThem(t *testing.T) {
	for _, r := range Rooms {
		if r.Free {
			continue
		}
		if !slices.ContainsFunc(controls, func(c control) bool {
			own, ok := roomOf(strings.TrimSuffix(c.path, "/"+filepath.Base(c.path)))
			return ok && own.Name == r.Name && c.rule == "direction"
		}) {
			t.Errorf("no control shows that %s may not import something", r.Name)
		}
	}
}

func TestTheClockIsReadInOneFile(t *testing.T) {
	src := func(body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("// Package idem is a control.\npackage idem\n\nimport \"time\"\n\nvar _ = " + body + "\n")}
	}
	for _, c := range []struct {
		given string
		tree  fstest.MapFS
		want  int
	}{
		{"one file", fstest.MapFS{"core/clock.go": src("time.Now()")}, 0},
		{"two files", fstest.MapFS{"core/clock.go": src("time.Now()"), "core/guard.go": src("time.Since(time.Time{})")}, 1},
		{"a file that only counts", fstest.MapFS{"core/clock.go": src("time.Now()"), "core/guard.go": src("time.Second")}, 0},
		{"another package", fstest.MapFS{"core/clock.go": src("time.Now()"), "core/storetest/a.go": src("time.Now()")}, 0},
	} {
		tree, err := Load(c.tree)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(oneClock(tree)); got != c.want {
			t.Errorf("%s: %d faults, want %d", c.given, got, c.want)
		}
	}
}

// What the compiler really links in, by the word of the go command: the promise
// to users of core and of the net/http adapter is "nothing but the standard
// library".
func TestCoreAndStdhttpPullInNothing(t *testing.T) {
	for _, c := range []struct {
		pkg    string
		barred string // a standard package that may not even come indirectly
	}{
		{"core", "net/http"},
		{"core/storetest", "net/http"},
		{"core/httpflow", ""},
		{"adapters/stdhttp", ""},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			own, std, others := pulledIn(t, c.pkg)
			t.Logf("%s pulls in %d packages of the standard library and of this module %s", c.pkg, len(std), strings.Join(own, ", "))
			flow, _ := roomOf("core/httpflow")
			for _, o := range others {
				if !slices.ContainsFunc(flow.Outside, func(p string) bool { return within(o, p) }) || c.barred != "" {
					t.Errorf("%s pulls in %s", c.pkg, o)
				}
			}
			if c.barred != "" && slices.Contains(std, c.barred) {
				t.Errorf("%s pulls in %s", c.pkg, c.barred)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		if _, std, _ := pulledIn(t, "internal/imports"); !slices.Contains(std, "go/parser") {
			t.Error("the list of what this package pulls in lacks go/parser: it is no list")
		}
	})
}

// pulledIn asks the go command for everything a package depends on.
func pulledIn(t *testing.T, pkg string) (own, std, others []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.Standard}} {{.ImportPath}}", "./"+pkg)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := err.(*exec.ExitError); ok {
			said = exit.Stderr
		}
		t.Fatalf("go list ./%s: %v\n%s", pkg, err, said)
	}
	for line := range strings.Lines(string(out)) {
		standard, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if dir, ok := inside(path); ok {
			own = append(own, dir)
		} else if standard == "true" {
			std = append(std, path)
		} else {
			others = append(others, path)
		}
	}
	return own, std, others
}
