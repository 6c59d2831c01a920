package idem

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// FuzzCard: whatever stands where an operation's card is looked for, a guard
// starts under it only if it is a card of ours made with our name key; else it
// says why and changes nothing. What it starts under is from then on a card that
// the next guard starts under, too, and its since has not gone back: that is what
// `dead` rests on (PROTOCOL T1, T6).
func FuzzCard(f *testing.F) {
	names, err := newNamer(testNameKey)
	if err != nil {
		f.Fatal(err)
	}
	whole, _ := json.Marshal(card{Version: 1, Since: 1, NameKey: names.checkValue(), Fingerprints: []string{"canonical"}, Retention: 86400, Counter: 3})
	f.Add(whole)
	f.Add(bytes.Replace(whole, []byte(`"v":1`), []byte(`"v":2`), 1))
	f.Add(bytes.Replace(whole, []byte(`"canonical"`), []byte(`"canonical","only /a","none","raw"`), 1))
	f.Add(bytes.Replace(whole, []byte(`"since":1`), []byte(`"since":9223372036854775807,"share":1e-300,"mode":"observe"`), 1))
	f.Add(bytes.Replace(whole, []byte(`"retention":86400`), []byte(`"retention":-1,"n":-1`), 1))
	for _, seed := range []string{``, `{`, `null`, `[]`, `{}`, `{"v":1}`, `{"v":1,"nameKey":"another"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		shelf := newShelf()
		name := "idem:" + testOperation + ":card"
		if _, err := shelf.Create(t.Context(), name, text, time.Hour); err != nil {
			t.Fatal(err)
		}
		start := func() error {
			g, err := New(Config{Store: shelf, Signer: guardSigner(t), NameKey: testNameKey, Policies: []Policy{{Operation: testOperation, Preset: API}}})
			if err != nil {
				return err
			}
			err = g.Ready(t.Context())
			if closing := g.Close(t.Context()); closing != nil {
				t.Error(closing)
			}
			return err
		}
		err := start()
		now, _ := shelf.at(name)
		var was, is card
		ours := json.Unmarshal(text, &was) == nil && was.Version == 1 && was.NameKey == names.checkValue()
		switch {
		case err == nil && !ours:
			t.Fatalf("a guard runs under %q", text)
		case err != nil:
			if !bytes.Equal(now.value, text) {
				t.Errorf("%q was refused (%v) and became %q", text, err, now.value)
			}
			return
		}
		if json.Unmarshal(now.value, &is) != nil || is.Since < was.Since || len(is.Fingerprints) > 2 {
			t.Errorf("%q became %q", text, now.value)
		}
		if err := start(); err != nil {
			t.Errorf("%q became %q, under which no guard starts: %v", text, now.value, err)
		}
	})
}
