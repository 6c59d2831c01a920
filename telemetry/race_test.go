//go:build race

package telemetry_test

// poolsLeak says that sync.Pool drops states at random, as it does under the
// race detector, so allocations cannot be counted.
const poolsLeak = true
