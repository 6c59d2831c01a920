// Package unbuilt does not compile.
package unbuilt

import "testing"

func TestNever(t *testing.T) { var unused int }
