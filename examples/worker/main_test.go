package main

import (
	"strings"
	"testing"

	"github.com/go-idem/idem/internal/leaktest"
)

// Nothing may be left running when all is closed.
func TestMain(m *testing.M) { leaktest.Main(m) }

func TestEveryMessageEndsAsPromised(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(out.String()), " ")
	for _, row := range []struct {
		message, trouble string
		heard            []string // without the numbers of the mails, which come as they come
		ends             string
	}{
		{"m-1", "none", []string{"executed"}, "acknowledged 1"},
		{"m-2", "its acknowledgement is lost, twice", []string{"executed", "replayed", "replayed"}, "acknowledged 1"},
		{"m-3", "delivered again while it runs", []string{"executed", "in-flight", "replayed"}, "acknowledged 1"},
		{"m-4", "the mail server says no at first", []string{"released: the mail server says no", "executed"}, "acknowledged 1"},
		{"m-5", "the mail server takes it and falls silent", []string{"uncertain", "uncertain", "uncertain", "uncertain"}, "dead letter 1"},
		{"m-6", "it can never be worked on", []string{"released: no invoice", "released: no invoice", "released: no invoice", "released: no invoice"}, "dead letter 0"},
		{"m-7", "another message under the same id", []string{"executed", "conflict"}, "dead letter 1"},
		{"m-1", "another tenant's message of the same id", []string{"executed"}, "acknowledged 1"},
	} {
		if line := mailless(table); !strings.Contains(line, row.message+" "+row.trouble+" "+strings.Join(row.heard, " · ")+" "+row.ends) {
			t.Errorf("%s, %s: not as promised in\n%s", row.message, row.trouble, out.String())
		}
	}
	if !strings.HasSuffix(table, "7 mails") {
		t.Errorf("not seven mails:\n%s", out.String())
	}
}

// mailless leaves the numbers of the mails out.
func mailless(text string) string {
	for {
		head, tail, found := strings.Cut(text, " (mail ")
		if !found {
			return text
		}
		_, rest, _ := strings.Cut(tail, ")")
		text = head + rest
	}
}
