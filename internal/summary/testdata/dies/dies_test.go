// Package dies ends in the middle of a test.
package dies

import "testing"

func TestBefore(t *testing.T) {}

func TestGoesDown(t *testing.T) {
	done := make(chan struct{})
	go func() { panic("out of the test's own goroutine") }()
	<-done
}
