//go:build !race

package main

// racing tells whether the race detector is in this program.
const racing = false
