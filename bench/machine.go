package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is what has to be known of it to read the figures.
type machine struct {
	cores int
	load  string // of the last one, five and fifteen minutes; "" where it is not told
}

func theMachine() machine {
	m := machine{cores: runtime.NumCPU()}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return m
}

func (m machine) String() string {
	load := m.load
	if load == "" {
		load = "not told"
	}
	return fmt.Sprintf("%d cores for everything, load %s, %s", m.cores, load, runtime.Version())
}

// busy says that others kept it busy: that more wanted to run than it has cores.
func (m machine) busy() bool {
	var lastMinute float64
	n, _ := fmt.Sscan(m.load, &lastMinute)
	return n == 1 && lastMinute > float64(m.cores)
}
