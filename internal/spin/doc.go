// Package spin has a model checker look through the protocol of one record:
// claim.pml, drawn by hand from the design, in every order of its events.
//
// It is a second opinion beside the models in core, which play the library's own
// code. Two mistakes in one head look like agreement; here the drawing, the
// language and the program that searches are others. The test verifies the model
// whole and then leaves out one rule at a time, each of which must be found out.
//
// The checker is the Debian package spin, which needs a C compiler. Where it is
// not on the PATH it is installed by apt, if the test runs as root, said on
// stderr, and not where IDEM_INSTALL=0 forbids it; else the test is skipped with
// the one line that would install it. With CI=true a missing checker is a failure.
package spin
