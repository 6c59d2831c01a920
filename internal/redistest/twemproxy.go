package redistest

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// Twemproxy starts a twemproxy (nutcracker) before so many real servers of its
// own, over which it spreads the names, and returns its address and theirs. It
// takes no command that is about a server and not about a name: no INFO, CONFIG,
// TIME, MULTI, SUBSCRIBE or SCRIPT. It ends with the test.
func Twemproxy(t testing.TB, servers int) (addr string, behind []string) {
	t.Helper()
	path := find(t, "nutcracker")
	var list strings.Builder
	for range servers {
		own, _ := Start(t)
		behind = append(behind, own)
		fmt.Fprintf(&list, "   - %s:1\n", own)
	}
	stats, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	_, statsPort, _ := net.SplitHostPort(stats)
	s, err := launch(path, func(port, dir string) ([]string, error) {
		conf := dir + "/nutcracker.yml"
		text := fmt.Sprintf("idem:\n  listen: 127.0.0.1:%s\n  hash: murmur\n  distribution: ketama\n"+
			"  auto_eject_hosts: false\n  redis: true\n  timeout: 2000\n  servers:\n%s", port, list.String())
		return []string{"-c", conf, "-a", "127.0.0.1", "-s", statsPort}, os.WriteFile(conf, []byte(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s.addr, behind
}
