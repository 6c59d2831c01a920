package sidebyside

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// path is where the page stands, from the root of the repository.
const path = "docs/reference/side-by-side.md"

// row is a trouble, and what was seen of both.
type row struct{ says, theirs, ours string }

// page is the page of these rows.
func page(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Side by side

Fiber's own idempotency middleware (%s of v%s) and this library on Fiber, put through the same eight troubles. Both have their defaults; ours has the preset API. Made by a test, which plays them over real connections and fails while this page says anything else (%s): every word of the last two columns was seen.

| trouble | Fiber's middleware | idem |
|---|---|---|
`, "`middleware/idempotency`", fiber.Version, "`go test ./bench/sidebyside`")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.says, r.theirs, r.ours)
	}
	b.WriteString(`
Read it fairly. Fiber's middleware is small and does what its page says for one process, short answers and a store that works; its lock can be replaced by one that instances share, which would mend the first row, and its keys can be made to hold the user by a middleware before it, which would mend the second. Ours needs a scope, a policy and a store of its own kind, and does not replay what it did not keep: a stream or a long answer is ` + "`used`" + ` the second time.

What the words mean: [what a client sees](../../README.md#what-a-client-sees). What is promised and what not: [Promise](../explanation/promise.md).
`)
	return b.String()
}
