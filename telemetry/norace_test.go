//go:build !race

package telemetry_test

// poolsLeak: see the other build.
const poolsLeak = false
