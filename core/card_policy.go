package idem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/go-idem/idem/internal/broken"
)

// policyNotes is what a guard remembers of the policies of one operation, by
// their hashes, so that it tells those of others from its own.
type policyNotes struct{ ours, told []string }

// mostNotes bounds each list: older ones are forgotten, and at worst told again.
const mostNotes = 16

func noted(list []string, hash string) []string {
	if slices.Contains(list, hash) {
		return list
	}
	list = append(list, hash)
	return list[max(0, len(list)-mostNotes):]
}

// hashOf is a short hash of a policy, to notice that processes differ.
func hashOf(p *Policy) string {
	text, _ := json.Marshal(*p) // plain data: it cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// runs notes that a policy of this hash runs here, or did.
func (s *cardState) runs(hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies.ours = noted(s.policies.ours, hash)
}

// isStrange says, once for each hash, that a policy is none of this guard's.
func (s *cardState) isStrange(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hash == "" || slices.Contains(s.policies.ours, hash) || slices.Contains(s.policies.told, hash) {
		return false
	}
	s.policies.told = noted(s.policies.told, hash)
	return true
}

// notice compares the policy of whoever wrote the card last with the one that
// runs here, and warns where it is another's: two services that use one
// operation's name by accident share its records, and each would answer the
// other's clients. A deploy that changes the policy looks the same until its last
// process is through, so nothing is refused. settled says that this policy is new
// here and has to stand in the card, where the others see it; notice reports
// whether the card changes for that.
func (g *Guard) notice(ctx context.Context, op *operation, c *card, settled bool) (changed bool) {
	if op.card.isStrange(c.Policy) && !broken.Is(broken.T6StrangePolicyUnsaid) {
		g.log.LogAttrs(ctx, slog.LevelWarn, "operation runs under another policy elsewhere: wait, if a deploy is changing it; else give this operation a name, or the guard a Prefix, of its own",
			attrOp(op), slog.String("policy", op.hash), slog.String("other", c.Policy))
	}
	return settled && c.Policy != op.hash
}
