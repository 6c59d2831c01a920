module github.com/go-idem/idem/bench

go 1.26.0

replace github.com/go-idem/idem => ../
