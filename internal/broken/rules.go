package broken

// The switches. Add one at the end together with its row in Rules.
const (
	None Rule = iota
	P1CheckThenSet
	P2LiteralSwap
	P3ForeignNonce
	P4NoRenewal
	P4NoMaxRun
	P5DeadlineFromReply
	P5NoDeadline
	P6RefusalWrites
	P7Attached
	P8SettleFails
	P9RecomputedName
	P10PanicUnsettled
	P11LeaseAsTTL
	P12UnreadableIsAbsent
	P13HoldRetaken
	P13EffectsRetaken
	I2FenceStands
	I11LateStart
	S9JanitorLooks
	S9NoAskAgain
	T1DeadUnproved
	T1BuryLooks
	T2LeaseAsRetention
	T6SinceUnread
	T6NameKeyUnread
	T5EarlyDataRuns
)

// Rules is the list `make broken` walks.
var Rules = []Entry{}
