// Package leaktest holds the tests of a package to leaving no goroutine behind
// (PROTOCOL I12). It is the one place that knows whose goroutines stay: a list
// in every package was right in some and wrong by chance in others.
package leaktest

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine that is about to end may take to. goleak by
// itself gives it a second, which a busy machine takes.
const patience = 20 * time.Second

// Main runs the tests of a package and ends the program: with what they ended
// with, or with 1 where they passed and left a goroutine running. Call it last in
// TestMain.
func Main(m goleak.TestingM) {
	code := m.Run()
	if code == 0 {
		if err := left(patience, stays); err != nil {
			fmt.Fprintf(os.Stderr, "the tests passed and left goroutines running: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// After looks for goroutines that began after it was called, when the test is
// over and what was registered with its Cleanup later is done.
func After(t interface {
	goleak.TestingT
	Cleanup(func())
}) {
	after(t, patience)
}

func after(t interface {
	goleak.TestingT
	Cleanup(func())
}, patience time.Duration) {
	begun := append([]goleak.Option{goleak.IgnoreCurrent()}, stays...)
	t.Cleanup(func() {
		if err := left(patience, begun); err != nil {
			t.Error(err)
		}
	})
}

// left tells of goroutines that are there and stay there.
func left(patience time.Duration, but []goleak.Option) (err error) {
	for deadline := time.Now().Add(patience); ; {
		if err = goleak.Find(but...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// stays are goroutines of fasthttp's own that outlive its servers.
var stays = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // it sleeps up to 10 s through its pool's end
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),    // one for all servers, for ever
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"),      // its compressor's, one for each core
}
