package main

import "slices"

// quantity is one thing that is measured of a row, and the title of its column.
type quantity string

const (
	perSecond quantity = "a second"
	micros    quantity = "µs"     // from beginning to end, for one caller
	cpu       quantity = "µs CPU" // of the measured process, a call
	allocs    quantity = "allocations"

	typical   quantity = "p50 ms"
	slowest   quantity = "p99 ms"
	runs      quantity = "runs"
	failures  quantity = "errors"
	astray    quantity = "not made once"
	calls     quantity = "store calls"
	looks     quantity = "looks an interval"
	exchanges quantity = "exchanges a call"
	read      quantity = "bytes read"
	length    quantity = "bytes of value"
	inRedis   quantity = "bytes in Redis"
)

// columns is the order in which they are shown, and with how many digits.
var columns = []struct {
	quantity
	digits int
}{
	{perSecond, 0}, {micros, 2}, {cpu, 2}, {allocs, 1}, {typical, 2}, {slowest, 2},
	{runs, 0}, {failures, 0}, {astray, 0}, {calls, 1}, {looks, 2}, {exchanges, 4}, {read, 0}, {length, 0}, {inRedis, 0},
}

// figure is what came out for a row in one round.
type figure map[quantity]float64

// figures are what came out for each row, round by round.
type figures map[string][]figure

// series is a figure made of rows, round by round; nothing where one of the rows
// was not measured.
type series func(figures) []float64

// one is a row's own figure.
func one(row string, q quantity) series {
	return func(all figures) (values []float64) {
		for _, f := range all[row] {
			if v, ok := f[q]; ok {
				values = append(values, v)
			}
		}
		return values
	}
}

// ratio is a row's figure by another row's, more is by how much it is above it.
// Both are taken within a round, whose two halves the machine slows alike.
func ratio(a, b string, q quantity) series {
	return both(a, b, q, func(a, b float64) float64 { return a / b })
}

func more(a, b string, q quantity) series {
	return both(a, b, q, func(a, b float64) float64 { return a - b })
}

func both(a, b string, q quantity, of func(a, b float64) float64) series {
	return func(all figures) []float64 {
		left, right := one(a, q)(all), one(b, q)(all)
		values := make([]float64, min(len(left), len(right)))
		for i := range values {
			values[i] = of(left[i], right[i])
		}
		return values
	}
}

// median is a row's figure in the middle of its rounds.
func (all figures) median(row string, q quantity) (v float64, measured bool) {
	values := one(row, q)(all)
	if len(values) == 0 {
		return 0, false
	}
	return middle(values), true
}

// middle is the value in the middle of at least one.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
