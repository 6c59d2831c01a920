module github.com/go-idem/idem/bench

go 1.26.0

require github.com/go-idem/idem v0.0.0

replace github.com/go-idem/idem => ../
