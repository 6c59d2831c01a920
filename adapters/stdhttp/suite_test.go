package stdhttp_test

import (
	"testing"

	"github.com/go-idem/idem/internal/suitetest"
	"github.com/go-idem/idem/internal/testserver"
)

// The statements of the HTTP face, on each kind of store.

func TestStatementsOnMemory(t *testing.T)    { suitetest.OnMemory(t, testserver.StdHTTP()) }
func TestStatementsOnMiniredis(t *testing.T) { suitetest.OnMiniredis(t, testserver.StdHTTP()) }
func TestStatementsOnRedis(t *testing.T)     { suitetest.OnRedis(t, testserver.StdHTTP()) }
