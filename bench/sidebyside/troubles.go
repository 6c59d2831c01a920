package sidebyside

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	idem "github.com/go-idem/idem/core"
)

// trouble is one thing that goes wrong. play returns what was seen, as a
// sentence for the page.
type trouble struct {
	name      string // for a test
	says      string
	policy    idem.Policy // what it asks of ours beyond the preset
	instances int
	handler   func(b *bed, c *fiber.Ctx) error
	play      func(b *bed) string
}

// created answers 201 with the user's name.
func created(_ *bed, c *fiber.Ctx) error { return c.Status(201).SendString("for " + c.Get("X-User")) }

var troubles = []trouble{
	{
		name: "instances", says: "Two instances share a store, and the repeat comes to the other one while the first runs", instances: 2,
		handler: func(b *bed, c *fiber.Ctx) error { <-b.gate; return created(b, c) },
		play: func(b *bed) string {
			first := b.begin(0, "ann")
			<-b.ran
			second := b.begin(1, "ann")
			var told answer
			select {
			case <-b.ran: // it runs beside
				b.open()
				told = <-second
			case told = <-second:
				b.open()
			}
			return fmt.Sprintf("%s; %v and %v", b.times(), <-first, told)
		},
	},
	{
		name: "user", says: "Another user comes with the same key", instances: 1, handler: created,
		play: func(b *bed) string {
			b.send(0, "ann")
			eve := b.send(0, "eve")
			return fmt.Sprintf("Eve was answered %v, %q; %s", eve, eve.body, b.times())
		},
	},
	{
		name: "store", says: "The store fails when the handler has succeeded; later the client repeats", instances: 1, handler: created,
		play: func(b *bed) string {
			b.failSettle(true)
			first := b.send(0, "ann")
			b.failSettle(false)
			return fmt.Sprintf("%v, then %v; %s", first, b.send(0, "ann"), b.times())
		},
	},
	{
		name: "stream", says: "The handler streams", instances: 1,
		handler: func(b *bed, c *fiber.Ctx) error {
			c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString("one\n") // to a client that may have gone
				_ = w.Flush()
				<-b.gate
				_, _ = w.WriteString("two\n")
			})
			return nil
		},
		play: func(b *bed) string {
			first := b.stream()
			came := "the first line was held back until the last"
			if first.early {
				came = "the first line came at once"
			}
			return fmt.Sprintf("%s; the repeat: %v; %s", came, b.send(0, "ann"), b.times())
		},
	},
	{
		name: "429", says: "The handler says 429 at first, and would succeed later", instances: 1,
		handler: func(b *bed, c *fiber.Ctx) error {
			if b.runs.Load() == 1 {
				return c.Status(429).SendString("later")
			}
			return created(b, c)
		},
		play: func(b *bed) string {
			return fmt.Sprintf("%v, then %v; %s", b.send(0, "ann"), b.send(0, "ann"), b.times())
		},
	},
	{
		name: "error", says: "The handler charges (it says so to ours by `MarkEffects`), and then returns an error", instances: 1,
		handler: func(_ *bed, c *fiber.Ctx) error {
			if err := idem.MarkEffects(c.UserContext(), "a charge"); err != nil && !errors.Is(err, idem.ErrNoClaim) {
				return err
			}
			return errors.New("the order could not be written")
		},
		play: func(b *bed) string {
			return fmt.Sprintf("%v, then %v; charged %s", b.send(0, "ann"), b.send(0, "ann"), times(int(b.runs.Load())))
		},
	},
	{
		name: "oversize", says: "The answer is 8 MiB", instances: 1,
		handler: func(_ *bed, c *fiber.Ctx) error { return c.Status(201).SendString(strings.Repeat("x", 8<<20)) },
		play: func(b *bed) string {
			b.send(0, "ann")
			return fmt.Sprintf("the repeat: %v; the store holds %s for it; %s", b.send(0, "ann"), size(b.held()), b.times())
		},
	},
	{
		name: "hung", says: "The handler hangs, and hears nothing", instances: 1,
		policy:  idem.Policy{Lease: 4 * time.Second, MaxRun: 4 * time.Second},
		handler: func(b *bed, c *fiber.Ctx) error { <-b.gate; return created(b, c) },
		play: func(b *bed) string {
			first := b.begin(0, "ann")
			<-b.ran
			told := b.untilDecided()
			b.open()
			<-first
			return told + "; " + b.times()
		},
	},
}

// untilDecided repeats a request whose first run hangs: until a repeat gets no
// answer, or another one than that it runs.
func (b *bed) untilDecided() string {
	var told []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		repeat := b.begin(0, "ann")
		select {
		case a := <-repeat:
			if said := a.String(); len(told) == 0 || told[len(told)-1] != said {
				told = append(told, said)
			}
			if a.verdict != "in-flight" {
				return "repeats are answered " + strings.Join(told, ", then ")
			}
		case <-time.After(silence):
			return "a repeat gets no answer for as long as it hangs"
		}
	}
	return "repeats are answered " + strings.Join(told, ", then ") + ", for ever"
}

// times says how often the handler ran.
func (b *bed) times() string {
	if n := int(b.runs.Load()); n != 1 {
		return fmt.Sprintf("it ran %s", times(n))
	}
	return "it ran once"
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// size is a number of bytes as people say it.
func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return "less than a KiB"
}

// see plays a trouble with a subject.
func (t trouble) see(s subject) (seen string, err error) {
	b, err := newBed(s, t.instances, t.handler)
	if err != nil {
		return "", err
	}
	seen = t.play(b)
	return seen, b.close()
}
