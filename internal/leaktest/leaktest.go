// Package leaktest holds the tests of a package to leaving no goroutine behind
// (PROTOCOL I12). It is the one place that knows whose goroutines stay: a list
// in every package was right in some and wrong by chance in others.
package leaktest

import "go.uber.org/goleak"

// Main runs the tests of a package and ends the program: with what they ended
// with, or with 1 where they passed and left a goroutine running. Call it last in
// TestMain.
func Main(m goleak.TestingM) { goleak.VerifyTestMain(m, stays...) }

// After looks for goroutines that began after it was called, when the test is
// over and what was registered with its Cleanup later is done.
func After(t interface {
	goleak.TestingT
	Cleanup(func())
}) {
	begun := append([]goleak.Option{goleak.IgnoreCurrent()}, stays...)
	t.Cleanup(func() { goleak.VerifyNone(t, begun...) })
}

// stays are goroutines of fasthttp's own that outlive its servers.
var stays = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // it sleeps up to 10 s through its pool's end
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),    // one for all servers, for ever
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"),      // its compressor's, one for each core
}
