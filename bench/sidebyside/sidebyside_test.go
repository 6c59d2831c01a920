package sidebyside

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-idem/idem/internal/leaktest"
)

var write = flag.Bool("write", false, "write the page anew")

// Both go through every trouble, and the page says what was seen, no more.
func TestThePageSaysWhatWasSeen(t *testing.T) {
	rows := make([]row, len(troubles))
	t.Run("play", func(t *testing.T) {
		for i, trouble := range troubles {
			rows[i].says = trouble.says
			for cell, s := range map[*string]subject{&rows[i].theirs: &theirs{}, &rows[i].ours: newOurs(trouble.policy)} {
				t.Run(trouble.name, func(t *testing.T) {
					t.Parallel()
					seen, err := trouble.see(s)
					if err != nil {
						t.Errorf("%T: %v", s, err)
					}
					*cell = seen
				})
			}
		}
	})
	file, want := filepath.Join("..", "..", filepath.FromSlash(path)), page(rows)
	if *write {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s says something else than was seen; go test ./bench/sidebyside -write makes\n%s", path, want)
	}
}

// What ours promises holds whatever the page says.
func TestOursRunsOnceUnlessNothingCameOfIt(t *testing.T) {
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			runs := int64(1)
			if trouble.name == "user" || trouble.name == "429" { // two intents; a refusal without effect
				runs = 2
			}
			b, err := newBed(newOurs(trouble.policy), trouble.instances, trouble.handler)
			if err != nil {
				t.Fatal(err)
			}
			trouble.play(b)
			if got := b.runs.Load(); got != runs {
				t.Errorf("the handler ran %d times, want %d", got, runs)
			}
			if err := b.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMain(m *testing.M) { leaktest.Main(m) }
