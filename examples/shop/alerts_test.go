package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// ailing is a store that can be slow or away.
type ailing struct {
	idem.Store
	slow atomic.Int64 // nanoseconds
	away atomic.Bool
}

func (a *ailing) Unwrap() idem.Store { return a.Store }

func (a *ailing) UsesStoreStep() bool { return true }

func (a *ailing) ails() error {
	if d := time.Duration(a.slow.Load()); d > 0 {
		<-time.After(d)
	}
	if a.away.Load() {
		return errors.New("the store is away")
	}
	return nil
}

func (a *ailing) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := a.ails(); err != nil {
		return idem.Result{}, err
	}
	return a.Store.Create(ctx, name, value, ttl)
}

func (a *ailing) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := a.ails(); err != nil {
		return idem.Result{}, err
	}
	return a.Store.Swap(ctx, name, old, value, ttl)
}

func (a *ailing) Load(ctx context.Context, name string) (idem.Result, error) {
	if err := a.ails(); err != nil {
		return idem.Result{}, err
	}
	return a.Store.Load(ctx, name)
}

// samples reads a scrape: the number of each series.
func samples(text string) map[string]string {
	list := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			at := strings.LastIndexByte(line, ' ')
			list[line[:at]] = line[at+1:]
		}
	}
	return list
}

// TestAlertsFireFromRealNumbers stages faults against a shop's guard, scrapes
// /metrics before and after, and has promtool play the rules on what was scraped:
// five quiet minutes, then minutes that are each like the staged one.
func TestAlertsFireFromRealNumbers(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on the PATH: the rules are not played (Debian: prometheus)")
	}
	figures, err := openFigures()
	if err != nil {
		t.Fatal(err)
	}
	ill := &ailing{Store: memstore.New(memstore.Options{})}
	s, err := newShop(shopConfig{
		adapter: "stdhttp", guarded: true, lease: shortLease, keys: newKeys(), store: ill, figures: figures,
		table: openTable(filepath.Join(t.TempDir(), "orders.jsonl")), logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	metrics := func() map[string]string { return samples(string(s.showMetrics(nil).body)) }
	ctx := context.Background()
	order := func(key string) {
		intent := idem.Intent{Operation: labOperation, Scope: "ann", Key: key, Source: "header"}
		_, _, _ = idem.Do(ctx, s.guard, intent, idem.JSON[int](), func(context.Context) (int, error) {
			if strings.HasPrefix(key, "fails") {
				return 0, errors.New("the handler fails")
			}
			return 1, nil
		})
	}
	order("well")
	before := metrics()
	for i := range 20 {
		order(fmt.Sprint("fails", i))
		_, _ = s.guard.Issue(ctx, idem.TokenRequest{Operation: labOperation}) // nobody asks
	}
	ill.slow.Store(int64(60 * time.Millisecond))
	for i := range 8 {
		order(fmt.Sprint("slow", i))
	}
	ill.slow.Store(0)
	ill.away.Store(true)
	for i := range 8 {
		order(fmt.Sprint("away", i))
	}
	until := time.Now().Add(time.Minute)
	after := metrics()
	for after[degradedSeries] != "1" && time.Now().Before(until) {
		runtime.Gosched()
		after = metrics()
	}
	ill.away.Store(false)
	playAlerts(t, tool, before, after, []string{
		"IdemIssueSuccessLow", "IdemRefusalsHigh", "IdemAbnormalReleases", "IdemStoreSlow", "IdemStoreVerySlow", "IdemStoreErrors", "IdemDegraded",
	})
}

// degradedSeries tells that the outage was noticed, which a goroutine of the
// guard does.
const degradedSeries = `idem_degrade_status{idem_degrade_state="degraded",otel_scope_name="github.com/go-idem/idem/telemetry",otel_scope_schema_url="",otel_scope_version="0.1.0"}`

// gauges are series that stand where they are; all others are counted up.
var gauges = []string{"idem_records", "idem_record_oldest_age", "idem_degrade_status", "idem_store_memory"}

// playAlerts has promtool say which alerts fire.
func playAlerts(t *testing.T, tool string, before, after map[string]string, want []string) {
	t.Helper()
	rules, err := filepath.Abs("../../telemetry/alerts/idem.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var test strings.Builder
	fmt.Fprintf(&test, "rule_files: ['%s']\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n", rules)
	for _, series := range slices.Sorted(maps.Keys(after)) {
		if !strings.HasPrefix(series, "idem_") {
			continue
		}
		was, is := number(t, before[series]), number(t, after[series])
		values := fmt.Sprintf("%g+0x5 %g+%gx30", was, is, is-was)
		if slices.ContainsFunc(gauges, func(g string) bool { return strings.HasPrefix(series, g) }) {
			values = fmt.Sprintf("%g+0x5 %g+0x30", was, is)
		}
		fmt.Fprintf(&test, "  - {series: '%s', values: '%s'}\n", series, values)
	}
	test.WriteString("  promql_expr_test:\n  - {expr: 'count(ALERTS{alertstate=\"firing\"}) or vector(0)', eval_time: 4m, exp_samples: [{labels: '{}', value: 0}]}\n")
	for _, alert := range want {
		fmt.Fprintf(&test, "  - {expr: 'count(ALERTS{alertname=\"%s\",alertstate=\"firing\"}) > bool 0', eval_time: 25m, exp_samples: [{labels: '{}', value: 1}]}\n", alert)
	}
	file := filepath.Join(t.TempDir(), "staged_test.yml")
	if err := os.WriteFile(file, []byte(test.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("of %v not all fire, or one fires before: %v\n%s", want, err, out)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
