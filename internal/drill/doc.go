// Package drill lets real server processes and a real redis-server work under
// losses, and counts what became of every key, sent by itself or in batches that
// overlap. Calls of a server leave together (group commit), as under load. It is the long form of what the
// statements of adapters/adaptertest say one by one.
//
// In `go test` a drill runs in a short, seeded form. With IDEM_DRILL=1 (`make
// drill`) it runs whole, and its report is what a release is judged by: how many
// operations, how much contention, how many replies were lost, which verdicts.
package drill
