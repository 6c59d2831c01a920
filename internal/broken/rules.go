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
	T6CardUnconfirmed
	S9StoreLooksFirst
	S9OwnValueRenews
	S9TimeBeforeValue
	S9DriverRetries
	P11NoTTL
	I6NoVerdict
	T6SinceStays
	S8ForceFromTheGrave
	S8ForcedReleased
	P7HalfwayReleased
	S7ChoiceByteShared
	T1RetentionRaised
	T2PolicyRetentionOnly
	T6OpenLeft
	S8SwapReachesRuns
	P8HeldReleaseClaimed
	P8HeldBeyondLease
	S8WaiterLooksFirst
	S8EachLooks
	S8OldNewsShared
	S8AllClaim
	S8RenewalsWake
	S8ReservedUnset
	S8StartedWhileCollecting
	S8BatchUnsorted
	S8ReservedLeft
	I1TakenEarly
	I3StaleWrites
	I4ReplayTidied
	I7JanitorNoTTL
	I12ClaimsLeft
	I12KeeperLeft
	I13JanitorGivesUp
	I14LateMark
	P2RenewalUndoesSettle
	S8ForcedMended
	T1ReleasedUnderOpen
	S8ObserveBuries
	S8ObserveRefuses
	S8ShareIgnored
	T6RollStays
	S6SealUnbound
	S6BrokenSealIsAbsent
	S8HookWaitedFor
	S8HookPanics
	S8HookDoubtIgnored
	S9PipelineAsOne
	S9CallsLeaveAlone
	S9WaitUnheard
	S7PartsUnframed
	S7EmptyIsAKey
	T6StrangePolicyUnsaid
	S8LeaseStands
	S8LeaseSlips
	P13ResolvedTooSoon
	P13ResolverAsOwner
	S9TwoReconcilers
	S9EntryUnheard
	P2LossUnmended
	P7SettleAttached
	T6CardExpires
	S8MarkUnwritten
	S8MarkedReleased
	S8FailedMarkPassed
	S8UndoneDoubted
	AuditClaimUnwritten
	AuditGateOpen
	AuditRidesBlindly
	AuditDropsUnseen
	I1ClaimUsedAgain
	S9RefusedOneByOne
	S8JanitorKeepsOn
	I4JudgementKept
	S9WaitHeardByAll
	S9WaitByTheFirst
	I4AnswerShared
	I1IdentityLent
	P7LateRunKept
	P10CodecUnsettled
	S8MarksInAnyOrder
	S8GivenBackOneByOne
)

// Rules is the list `make broken` walks.
var Rules = []Entry{
	{P1CheckThenSet, "P1-check-then-set", "core", "TestP1_AClaimIsOneAtomicStep", "a claim looks first and writes then"},
	{P2LiteralSwap, "P2-literal-swap", "core", "TestP2_ARenewalWithoutAReplyIsStillOurs", "an owner takes only the very value it wrote last for its own"},
	{P3ForeignNonce, "P3-foreign-nonce", "core", "TestP3_AClaimWhoseReplyWasLostIsOurs", "a repeated claim does not know its own nonce"},
	{P4NoRenewal, "P4-no-renewal", "core", "TestP4_ALongHandlerKeepsItsClaim", "leases are not renewed"},
	{P4NoMaxRun, "P4-no-max-run", "core", "TestP4_MaxRunEndsTheRunAndItsRenewals", "nothing bounds a run"},
	{P5DeadlineFromReply, "P5-deadline-from-reply", "core", "TestP5_TheDeadlineCountsFromTheFirstSend", "the owner's deadline counts from the reply"},
	{P5NoDeadline, "P5-no-deadline", "core", "TestP5_AnOwnerStopsBeforeItsLeaseDoes", "an owner never doubts its own claim"},
	{P6RefusalWrites, "P6-refusal-writes", "core", "TestP6_ARefusalWritesNothing", "a refusal renews the record it found"},
	{P7Attached, "P7-attached", "core", "TestP7_TheRunOutlivesItsConnection", "the handler's context ends with the connection"},
	{P8SettleFails, "P8-settle-fails", "core", "TestP8_AStoreThatFailsAtTheSettleFailsNobody", "a settle that failed once is given up"},
	{P9RecomputedName, "P9-recomputed-name", "core", "TestP9_TheIdentityIsComputedOnce", "the record's name is computed anew for each request"},
	{P10PanicUnsettled, "P10-panic-unsettled", "core", "TestP10_EveryExitSettles", "a panic or Goexit leaves the claim as it is"},
	{P11LeaseAsTTL, "P11-lease-as-ttl", "core", "TestP11_EveryWriteLivesForTheRetention", "a settled record lives as long as its lease"},
	{P12UnreadableIsAbsent, "P12-unreadable-is-absent", "core", "TestP12_AnUnreadableRecordIsNeverRun", "a record that cannot be read is taken over"},
	{P13HoldRetaken, "P13-hold-retaken", "core", "TestP13_ALapsedClaimUnderHoldReadsAsUncertain", "a lapsed claim is taken over under Hold"},
	{P13EffectsRetaken, "P13-effects-retaken", "core", "TestP13_MarkedEffectsAreHeldUnderRetakeToo", "marked effects are forgotten under Retake"},
	{I2FenceStands, "I2-fence-stands", "core", "TestI2_ATakeOverRaisesTheFence", "a take-over keeps the old fence"},
	{I11LateStart, "I11-late-start", "core", "TestI11_AClaimWonTooLateIsNotStarted", "a claim is started however late it was won"},
	{S9JanitorLooks, "S9-janitor-looks", "core", "TestS9_TheJanitorWrites", "the janitor only changes what it finds"},
	{S9NoAskAgain, "S9-no-ask-again", "core", "TestS9_AnUnknownClaimIsAskedForAgain", "a claim without an answer is given up at once"},
	{T1DeadUnproved, "T1-dead-unproved", "core", "TestT1_WhatNobodyCanVouchForIsForgotten", "dead is said where no record proves nothing"},
	{T1BuryLooks, "T1-bury-looks", "core", "TestT1_DeadIsSaidOnlyOfWhatIsBuried", "dead is said without a burial"},
	{T2LeaseAsRetention, "T2-lease-as-retention", "core", "TestT2_RecordsOutliveTokens", "a claim's record vanishes with its lease"},
	{T6SinceUnread, "T6-since-unread", "core", "TestT6_DataThatWasLostMakesTokensForgotten", "the card's since plays no part"},
	{T6NameKeyUnread, "T6-name-key-unread", "core", "TestT6_AnotherNameKeyDoesNotStart", "the card's check value plays no part"},
	{T6CardUnconfirmed, "T6-card-unconfirmed", "core", "TestT6_TheCardIsReadBeforeADeathIsCertified", "the card is not read again before dead is said"},
	{S9StoreLooksFirst, "S9-store-looks-first", "stores/memstore", "TestS9_AClaimIsOneStepInTheStore", "a store looks first and sets then"},
	{S9StoreLooksFirst, "S9-store-looks-first", "stores/redisstore", "TestS9_AClaimIsOneStepInTheStore", "a store looks first and sets then"},
	{S9OwnValueRenews, "S9-own-value-renews", "stores/memstore", "TestS9_AnOwnValueKeepsItsTimeToLive", "a Swap that finds its own value sets the time to live again"},
	{S9OwnValueRenews, "S9-own-value-renews", "stores/redisstore", "TestS9_AnOwnValueKeepsItsTimeToLive", "a Swap that finds its own value sets the time to live again"},
	{S9TimeBeforeValue, "S9-time-before-value", "stores/redisstore", "TestS9_TheValueIsReadBeforeItsTime", "the time left is read before the value"},
	{S9DriverRetries, "S9-driver-retries", "stores/redisstore", "TestS9_NothingIsSentTwice", "the driver sends a call without a reply again"},
	{P11NoTTL, "P11-no-ttl", "stores/redisstore", "TestP11_NoRecordIsWithoutATimeToLive", "records are written without a time to live"},
	{T5EarlyDataRuns, "T5-early-data-runs", "core/httpflow", "TestT5_EarlyDataWithoutAKeyRunsNothing", "early data without a key runs"},
	{P7Attached, "P7-attached", "core/httpflow", "TestP7_TheHandlerOutlivesItsClient", "the handler's context ends with the connection"},
	{P10PanicUnsettled, "P10-panic-unsettled", "core/httpflow", "TestP10_APanicSettlesAndGoesOn", "a panic or Goexit leaves the claim as it is"},
	{I6NoVerdict, "I6-no-verdict", "core/httpflow", "TestI6_EveryJudgedRequestEndsWithOneVerdict", "an answer leaves without its verdict"},
	{T6SinceStays, "T6-since-stays", "core", "TestT6_SinceMovesAfterRunsWithoutARecord", "since stays where it is although the action ran without a record"},
	{S8ForceFromTheGrave, "S8-force-from-the-grave", "core", "TestS8_NothingIsForcedOutOfItsGrave", "a buried token can be forced"},
	{S8ForcedReleased, "S8-forced-released", "core", "TestS8_ForceRunsOverWhatRefuses", "a forced run is released"},
	{P7HalfwayReleased, "P7-halfway-released", "core", "TestP7_CancelEndsTheRunInDoubt", "a run that was stopped half-way is released"},
	{S7ChoiceByteShared, "S7-choice-byte-shared", "core", "TestS7_AChoiceWhoseByteIsTakenIsRefused", "two fingerprint choices share a version byte unseen"},
	{T1RetentionRaised, "T1-retention-raised", "core", "TestT1_ALongerRetentionProvesNothingOfWhatRanBefore", "a longer retention leaves since where it was"},
	{T2PolicyRetentionOnly, "T2-policy-retention-only", "core", "TestT2_ATokenOfAnotherPolicyIsOutlivedToo", "a record is kept for its policy's retention, however long its token lives"},
	{T6OpenLeft, "T6-open-left", "core", "TestT6_WhoLeavesOpenMovesSince", "since stays where it was when Open is left"},
	{S8SwapReachesRuns, "S8-swap-reaches-runs", "core", "TestS8_ARunKeepsThePolicyItBeganWith", "a swap changes the policy of claims that run"},
	{P1CheckThenSet, "P1-check-then-set", "internal/proof", "TestProof_EveryHistoryIsLegal", "a claim looks first and writes then"},
	{P4NoRenewal, "P4-no-renewal", "internal/proof", "TestProof_EveryHistoryIsLegal", "leases are not renewed"},
	{P13HoldRetaken, "P13-hold-retaken", "internal/proof", "TestCrash_EveryKeyEndsAsTheTableSays", "a lapsed claim is taken over under Hold"},
	{P13EffectsRetaken, "P13-effects-retaken", "internal/proof", "TestCrash_EveryKeyEndsAsTheTableSays", "marked effects are forgotten under Retake"},
	{I2FenceStands, "I2-fence-stands", "internal/proof", "TestCrash_EveryKeyEndsAsTheTableSays", "a take-over keeps the old fence"},
	{P8HeldBeyondLease, "P8-held-beyond-lease", "core", "TestP8_WhatIsHeldBeyondItsLeaseIsForTheStoreToSay", "an outcome that is not written is answered from after its lease, whoever has run since"},
	{P8HeldReleaseClaimed, "P8-held-release-claimed", "core", "TestModelJanitorHeldRelease", "a repeat claims from a release that is not written yet"},
	{I1TakenEarly, "I1-taken-early", "core", "TestI1_NobodyTakesAClaimBeforeItsLeaseRanOut", "a claim is taken over after half of its lease"},
	{P5NoDeadline, "P5-no-deadline", "core", "TestI1_NobodyTakesAClaimBeforeItsLeaseRanOut", "an owner never doubts its own claim"},
	{I3StaleWrites, "I3-stale-writes", "core", "TestI3_WhatIsSettledIsLeftByItsOwnDoorsOnly", "an owner writes over whatever has followed it"},
	{I4ReplayTidied, "I4-replay-tidied", "core/httpflow", "TestI4_AReplayIsTheFirstAnswerByteForByte", "the white space around a replayed body is left out"},
	{T1BuryLooks, "T1-bury-looks", "core", "TestI5_DeadIsNeverSaidOfATokenThatRunsAfterAll", "dead is said without a burial"},
	{I7JanitorNoTTL, "I7-janitor-no-ttl", "core", "TestI7_NoRecordIsWrittenWithoutATimeToLive", "the janitor writes without a time to live"},
	{P6RefusalWrites, "P6-refusal-writes", "core", "TestI8_NoRefusalWrites", "a refusal renews the record it found"},
	{P1CheckThenSet, "P1-check-then-set", "core", "TestI9_NoMoreRunsThanSomethingAccountsFor", "a claim looks first and writes then"},
	{P13HoldRetaken, "P13-hold-retaken", "core", "TestI9_NoMoreRunsThanSomethingAccountsFor", "a lapsed claim is taken over under Hold"},
	{S9JanitorLooks, "S9-janitor-looks", "core", "TestI10_WithFaultsAtEveryCall", "the janitor only changes what it finds"},
	{P2LiteralSwap, "P2-literal-swap", "core", "TestI10_WithFaultsAtEveryCall", "an owner takes only the very value it wrote last for its own"},
	{I12ClaimsLeft, "I12-claims-left", "core", "TestI12_NoClaimIsLeftAfterClose", "Close does not wait for what the janitor has to do"},
	{I12KeeperLeft, "I12-keeper-left", "core", "TestI12_NothingIsLeftAfterClose", "Close leaves a goroutine behind"},
	{I13JanitorGivesUp, "I13-janitor-gives-up", "core", "TestI13_AnUnknownClaimEndsWithinALeaseAndAPeriod", "the janitor gives up what failed once"},
	{I14LateMark, "I14-late-mark", "core", "TestI14_NoClaimOutlivesMaxRunAndALease", "a mark renews the lease after MaxRun"},
	{P4NoMaxRun, "P4-no-max-run", "core", "TestI14_NoClaimOutlivesMaxRunAndALease", "nothing bounds a run"},
	{P2RenewalUndoesSettle, "P2-renewal-undoes-settle", "core", "TestP2_ARenewalDoesNotUndoItsOwnSettle", "a renewal puts the claim back in the place of its own run's doubt"},
	{S8ForcedMended, "S8-forced-mended", "core", "TestS8_AForcedClaimThatNobodyHeardOfIsNotReleased", "the janitor releases a forced claim"},
	{P3ForeignNonce, "P3-foreign-nonce", "core", "TestScripts_InvariantsHold", "a repeated claim does not know its own nonce"},
	{T1BuryLooks, "T1-bury-looks", "core", "TestScripts_InvariantsHold", "dead is said without a burial"},
	{I2FenceStands, "I2-fence-stands", "core", "TestScripts_InvariantsHold", "a take-over keeps the old fence"},
	{S9JanitorLooks, "S9-janitor-looks", "core", "TestScripts_InvariantsHold", "the janitor only changes what it finds"},
	{T1ReleasedUnderOpen, "T1-released-under-open", "core", "TestT1_ADiscardedReleaseIsNotDeadUnderOpen", "a discarded release is dead although it may have run without a record"},
	{S8ObserveBuries, "S8-observe-buries", "core", "TestS8_ObserveBuriesNothing", "Observe buries expired tokens"},
	{S8ObserveRefuses, "S8-observe-refuses", "core", "TestS8_ObserveRefusesNothingAndReportsEverything", "Observe refuses as Enforce does"},
	{S8ShareIgnored, "S8-share-ignored", "core", "TestS8_AShareOfTheKeysIsGuarded", "every key is guarded, whatever the share"},
	{T6RollStays, "T6-roll-stays", "core", "TestT6_AChangeOfModeOrShareMovesSince", "a change of mode or share leaves since where it was"},
	{S6SealUnbound, "S6-seal-unbound", "core", "TestS6_ASealBindsTheAnswerToItsRecord", "a seal covers neither the record's name nor what stands before the answer"},
	{S6BrokenSealIsAbsent, "S6-broken-seal-is-absent", "core", "TestS6_ABrokenSealIsHeld", "an answer whose seal is broken is taken for none"},
	{S9PipelineAsOne, "S9-pipeline-as-one", "stores/redisstore", "TestS9_AHalfAnsweredPipelineIsKnownByHalves", "what became of a pipeline's commands is taken from the driver's word for the whole"},
	{S9CallsLeaveAlone, "S9-calls-leave-alone", "stores/redisstore", "TestS9_CallsThatWaitLeaveTogether", "however many pipelines are under way, every call makes one more"},
	{S9WaitUnheard, "S9-wait-unheard", "stores/redisstore", "TestS9_AClaimAskedAgainWaitsAgain", "what WAIT says plays no part"},
	{S8WaiterLooksFirst, "S8-waiter-looks-first", "core", "TestS8_AWaiterLooksAfterItSubscribed", "a waiter looks before it subscribes, and not again"},
	{S8EachLooks, "S8-each-looks", "core", "TestS8_AHotRecordCostsOneCallAnInterval", "every loser looks by itself"},
	{S8OldNewsShared, "S8-old-news-shared", "core", "TestS8_OldNewsIsNotShared", "what was seen is shared however long ago it was"},
	{S8AllClaim, "S8-all-claim", "core", "TestS8_OneOfTheWaitersClaims", "all waiters of a process claim at once after a release"},
	{S8RenewalsWake, "S8-renewals-wake", "core", "TestS8_OnlyAnEndWakes", "renewals wake those who wait"},
	{S8ReservedUnset, "S8-reserved-unset", "core", "TestS8_ACrashWhileCollectingIsNeverUncertain", "the claims of an all-or-nothing batch are made without the flag reserved"},
	{S8StartedWhileCollecting, "S8-started-while-collecting", "core", "TestS8_ACrashWhileCollectingIsNeverUncertain", "items of an all-or-nothing batch are started before all are held"},
	{S8BatchUnsorted, "S8-batch-unsorted", "core", "TestS8_NoTwoBatchesWaitForEachOther", "all-or-nothing batches claim in the order in which their items came"},
	{S8ReservedLeft, "S8-reserved-left", "core", "TestS8_NoneIsLeftHeld", "an all-or-nothing batch that is refused keeps what it held"},
	{P5NoDeadline, "P5-no-deadline", "core", "TestP5_ASlowStoreHoldsUpNobodysDeadline", "an owner never doubts its own claim"},
	{S9NoAskAgain, "S9-no-ask-again", "core", "TestStatement34_UnknownOutcomesAreAskedAgainOneByOne", "a claim without an answer is given up at once"},
	{S8HookWaitedFor, "S8-hook-waited-for", "core", "TestS8_AHookThatHangsIsGivenUp", "a request waits for a hook as long as it takes"},
	{S8HookPanics, "S8-hook-panics", "core", "TestS8_WhatGoesWrongInAHookStaysThere", "a hook's panic is the request's"},
	{S8HookDoubtIgnored, "S8-hook-doubt-ignored", "core", "TestS8_AHookTurnsAnErrorIntoDoubt", "a hook's doubt plays no part"},
	{S7PartsUnframed, "S7-parts-unframed", "core", "TestS7_JoinedPartsAreFramed", "the parts of a joined key are put one behind the other"},
	{S7EmptyIsAKey, "S7-empty-is-a-key", "core/httpflow", "TestS7_AnEmptyPartIsNoKey", "an empty value is a key like any other"},
	{T6StrangePolicyUnsaid, "T6-strange-policy-unsaid", "core", "TestT6_AnotherPolicyUnderTheNameIsSaidOnce", "nobody says that an operation runs under another policy elsewhere"},
	{S8LeaseStands, "S8-lease-stands", "core", "TestS8_TheAdaptiveLeaseFollowsItsHandler", "an adaptive lease stays where it began"},
	{S8LeaseSlips, "S8-lease-slips", "core", "TestS8_AClaimKeepsTheLeaseItWasMadeWith", "a renewal's deadline is that of a claim made now"},
	{P13ResolvedTooSoon, "P13-resolved-too-soon", "core/reconcile", "TestP13_AResolverWaitsOneMoreLease", "a crashed run is resolved as soon as its lease ran out"},
	{P13ResolvedTooSoon, "P13-resolved-too-soon", "core/reconcile", "TestI3_NobodyWinsTwice", "a crashed run is resolved as soon as its lease ran out"},
	{P13ResolvedTooSoon, "P13-resolved-too-soon", "core", "TestModelResolver", "a crashed run is resolved as soon as its lease ran out"},
	{P13ResolverAsOwner, "P13-resolver-as-owner", "core/reconcile", "TestP13_AResolverSettlesAsSomebodyElse", "a resolver settles with the owner's nonce and fence"},
	{S9TwoReconcilers, "S9-two-reconcilers", "core/reconcile", "TestS9_OneReconcilerAtATime", "reconcilers ask without a claim of their own"},
	{S9EntryUnheard, "S9-entry-unheard", "stores/redisstore", "TestS9_AClaimWhoseEntryIsUnheardIsNotWon", "a claim is won although its index entry is not known to be there"},
	{P2LossUnmended, "P2-loss-unmended", "core", "TestP2_WhatTheStoreLostIsWrittenAnew", "an outcome whose claim the store lost is not written"},
	{P7SettleAttached, "P7-settle-attached", "core", "TestP7_TheSettleOutlivesItsConnection", "the store's calls end with the connection"},
	{T6CardExpires, "T6-card-expires", "core", "TestT6_TheCardIsRenewedWhenHalfOfItsLifeIsLeft", "a card is left to expire"},
	{S8MarkUnwritten, "S8-mark-unwritten", "core", "TestP13_MarkedEffectsAreHeldUnderRetakeToo", "a mark is only remembered"},
	{S8MarkedReleased, "S8-marked-released", "core", "TestMarkEffects", "a marked run is released"},
	{S8FailedMarkPassed, "S8-failed-mark-passed", "core", "TestMarkEffects", "a handler that goes on after a failed mark is believed"},
	{S8UndoneDoubted, "S8-undone-doubted", "core", "TestNoEffectsReleasesOverMarkAndEndedContext", "what says that it had no effect is left in doubt"},
	{P12UnreadableIsAbsent, "P12-unreadable-is-absent", "core", "TestP12_UnreadableAndNewerRecordsAreHeld", "a record that cannot be read is taken over"},
	{AuditClaimUnwritten, "audit-claim-unwritten", "core", "TestAuditClaimThatCannotBeWrittenIsNotStarted", "a claim is started although its audit event was refused"},
	{AuditGateOpen, "audit-gate-open", "core", "TestAuditGateKeepsRecordsAsTheyAre", "claims are made although the audit log says that it cannot be written"},
	{AuditRidesBlindly, "audit-rides-blindly", "audit", "TestAuditRidesOnlyWithWhatWasDone", "an audit event is written whatever became of its claim or settle"},
	{S8JanitorKeepsOn, "S8-janitor-keeps-on", "core", "TestS8_TheJanitorBacksOff", "the janitor tries each second, however long the store is away"},
	{S9RefusedOneByOne, "S9-refused-one-by-one", "stores/redisstore", "TestS9_WhatAServerWithoutTheScriptRefusesLeavesTogether", "what a server refused for want of a script is sent again one by one"},
	{AuditDropsUnseen, "audit-drops-unseen", "audit", "TestAuditDropsAreSeen", "audit events are dropped without a count"},
	{I1ClaimUsedAgain, "I1-claim-used-again", "core", "TestI1_AContextReachesNoRunButItsOwn", "a claim is used again although a context still leads to it"},
	{I4JudgementKept, "I4-judgement-kept", "core/httpflow", "TestI4_NothingOfARequestGetsIntoAnother", "the body of one request is taken for that of the next"},
	{S9WaitHeardByAll, "S9-wait-heard-by-all", "stores/redisstore", "TestS9_OnlyAClaimHearsItsWait", "what leaves with a claim that waits for replicas is told what became of the wait"},
	{S9WaitByTheFirst, "S9-wait-by-the-first", "stores/redisstore", "TestS9_AClaimWaitsInAnyBatch", "whether a claim in a batch waits for replicas is decided by the batch's first operation"},
	{I4AnswerShared, "I4-answer-shared", "core", "TestI4_AnAnswerIsItsCallersToChange", "answers of one process share the bytes of the run's own"},
	{I1IdentityLent, "I1-identity-lent", "core", "TestI1_AnAuthorizerHoldsNoIdentity", "whoever is asked about a force is told the identity of a claim that is used again"},
	{P7LateRunKept, "P7-late-run-kept", "core", "TestP7_ARunThatBeginsWhenCloseHasGivenUpFindsItsContextEnded", "a run that begins when Close has given up goes on for ever"},
	{P10CodecUnsettled, "P10-codec-unsettled", "core", "TestP10_ACodecThatPanicsLeavesNoClaimBehind", "a codec's panic leaves the claim to be renewed"},
	{S8MarksInAnyOrder, "S8-marks-in-any-order", "core", "TestS8_MarksOfManyWaitForNobodyInACircle", "claims are marked together as often and in the order that they were given"},
	{S8GivenBackOneByOne, "S8-given-back-one-by-one", "core", "TestS8_WhatCannotBeStartedIsGivenBackTogether", "items that cannot be started are given back one after the other"},
	{I1ClaimUsedAgain, "I1-claim-used-again", "core", "TestI1_NothingIsMixedUpInAStorm", "a claim is used again although a context still leads to it"},
	{I4AnswerShared, "I4-answer-shared", "core", "TestI1_NothingIsMixedUpInAStorm", "answers of one process share the bytes of the run's own"},
	{P9RecomputedName, "P9-recomputed-name", "core", "TestI1_NothingIsMixedUpInAStorm", "the record's name is computed anew for each request"},
	{S8MarkedReleased, "S8-marked-released", "core", "TestI1_NothingIsMixedUpInAStorm", "a marked run is released"},
}
