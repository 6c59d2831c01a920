// Package idem makes any write safe to submit twice.
package idem
