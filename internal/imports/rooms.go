package imports

import (
	"fmt"
	"slices"
	"strings"
)

// Room is a folder with what its packages may import beside the standard
// library. Tests are no arrows: a _test.go file may import what it likes.
type Room struct {
	Name    string   // folder; it holds for every package below that has no room of its own
	Uses    []string // folders of this repository, with all below them
	Outside []string // import paths of other modules, with all below them (docs/adr/0003 says why each is there)
	Bars    []string // standard packages it may not import itself, "*" for all of them
	Free    bool     // imports whatever it likes
}

// switches may be imported wherever a named rule is implemented: a leaf without
// imports, so no arrow leads on from it.
const switches = "internal/broken"

// Rooms is the direction of imports: one arrow each, every other is a fault.
//
//	adapters → core/httpflow → core        stores → core
//	telemetry → core + OpenTelemetry       console → core
//	examples, bench → all
//
// A new room, or a new arrow between two, is a decision about the house: it is
// made on the page that describes the house first, and here second.
var Rooms = []Room{
	{Name: switches, Bars: []string{"*"}},
	{Name: switches + "/run", Free: true}, // the command behind `make broken`
	{Name: "core", Uses: []string{switches}, Bars: []string{"net/http"}},
	{Name: "core/httpflow", Uses: []string{"core", switches}, Outside: []string{"github.com/dunglas/httpsfv"}},
	{Name: "core/reconcile", Uses: []string{"core", switches}, Bars: []string{"net/http"}},
	{Name: "core/storetest", Uses: []string{"core", switches}, Bars: []string{"net/http"}},

	{Name: "stores/memstore", Uses: []string{"core", switches}, Bars: []string{"net/http"}},
	{Name: "stores/redisstore", Uses: []string{"core", switches}, Bars: []string{"net/http"}, Outside: []string{"github.com/redis/go-redis/v9"}},
	{Name: "stores/sqlstore", Uses: []string{"core", switches}, Bars: []string{"net/http"}, Outside: []string{"github.com/jackc/pgx/v5", "github.com/go-sql-driver/mysql"}},
	{Name: "stores/etcdstore", Uses: []string{"core", switches}, Bars: []string{"net/http"}, Outside: []string{"go.etcd.io/etcd"}},
	{Name: "stores/tiered", Uses: []string{"core", switches}, Bars: []string{"net/http"}},

	{Name: "adapters/stdhttp", Uses: []string{"core/httpflow", switches}},
	{Name: "adapters/echo", Uses: []string{"core/httpflow", switches}, Outside: []string{"github.com/labstack/echo/v4"}},
	{Name: "adapters/fiber", Uses: []string{"core/httpflow", switches}, Outside: []string{"github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp"}},
	{Name: "adapters/adaptertest", Uses: []string{"core/httpflow", "core", "core/storetest", switches}},

	{Name: "telemetry", Uses: []string{"core", switches}, Outside: []string{"go.opentelemetry.io/otel"}},
	{Name: "audit", Uses: []string{"core", switches}},
	{Name: "audit/redisstream", Outside: []string{"github.com/redis/go-redis/v9"}},
	{Name: "console", Uses: []string{"core", switches}},
	{Name: "cmd", Uses: []string{"core", "console"}},
	{Name: "frontend"},

	{Name: "internal", Free: true},
	{Name: "examples", Free: true},
	{Name: "bench", Free: true},
	{Name: "tools", Free: true},
}

// roomOf finds the room of a folder: the deepest one that it lies in.
func roomOf(dir string) (Room, bool) {
	best := -1
	for i, r := range Rooms {
		if within(dir, r.Name) && (best < 0 || len(r.Name) > len(Rooms[best].Name)) {
			best = i
		}
	}
	if best < 0 {
		return Room{}, false
	}
	return Rooms[best], true
}

// allows judges one import by a package of the room; "" is no objection.
func (r Room) allows(importPath string) string {
	if r.Free {
		return ""
	}
	if to, ok := inside(importPath); ok {
		if same, ok := roomOf(to); ok && same.Name == r.Name {
			return ""
		}
		if slices.ContainsFunc(r.Uses, func(u string) bool { return reaches(to, u) }) {
			return ""
		}
		return fmt.Sprintf("%s does not import %s: the arrows from it are %s", r.Name, to, orNone(r.Uses))
	}
	if standard(importPath) {
		if slices.Contains(r.Bars, "*") || slices.ContainsFunc(r.Bars, func(b string) bool { return within(importPath, b) }) {
			return fmt.Sprintf("%s does not import %s", r.Name, importPath)
		}
		return ""
	}
	if slices.ContainsFunc(r.Outside, func(o string) bool { return within(importPath, o) }) {
		return ""
	}
	return fmt.Sprintf("%s imports no %s: from other modules it has %s", r.Name, importPath, orNone(r.Outside))
}

// reaches tells whether folder to is what the arrow to u allows: u, or a folder
// below it that is no room of its own.
func reaches(to, u string) bool {
	r, ok := roomOf(to)
	return ok && within(to, u) && len(r.Name) <= len(u)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
