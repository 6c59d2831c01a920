//go:build !race

package suitetest

const racing = false
