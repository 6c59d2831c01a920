//go:build !race

package idem

// poolsLeak: see the other build.
const poolsLeak = false
