package fiberidem_test

import (
	"testing"

	"github.com/go-idem/idem/internal/suitetest"
	"github.com/go-idem/idem/internal/testserver"
)

// The statements of the HTTP face, on each kind of store.

func TestStatementsOnMemory(t *testing.T)    { suitetest.OnMemory(t, testserver.Fiber()) }
func TestStatementsOnMiniredis(t *testing.T) { suitetest.OnMiniredis(t, testserver.Fiber()) }
func TestStatementsOnRedis(t *testing.T)     { suitetest.OnRedis(t, testserver.Fiber()) }
